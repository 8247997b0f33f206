// Forms without a reload: each goes to its address in the JSON API, and an error is told at the top of the page.

const SILENT = "The appliance does not answer. Is this phone in its network?";

export async function send(path, fields = {}) {
  let answer = null;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(fields),
    });
  } catch {
    say(SILENT);
    return null;
  }
  if (answer.status === 401) signIn();
  const told = await answer.json();
  say(answer.ok ? "" : told.error);
  return answer.ok ? told : null;
}

export function signIn() {
  location.assign(`/sign-in?to=${encodeURIComponent(location.pathname)}`);
}

// The appliance was heard: whatever else the notice says is still to be read.
export function answersAgain() {
  if (document.getElementById("notice").textContent === SILENT) say("");
}

// What cannot be taken back is asked first.
export function askFirst() {
  document.addEventListener(
    "submit",
    (event) => {
      const question = event.target.dataset.ask;
      if (!question || confirm(question)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    { capture: true },
  );
}

export function takeOverForms(onAnswer) {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || "plain" in form.dataset) return;
    event.preventDefault();
    const button = event.submitter;
    const fields = Object.fromEntries(new FormData(form));
    if (button?.name) fields[button.name] = button.value;
    const path = button?.getAttribute("formaction") ?? form.getAttribute("action");
    const told = await send(path, fields);
    if (told) onAnswer(path, told, button);
  });
}

export function say(sentence, how = "") {
  const notice = document.getElementById("notice");
  notice.hidden = !sentence;
  notice.textContent = sentence;
  notice.className = `notice ${how}`;
  if (sentence) notice.scrollIntoView({ block: "nearest" });
}
