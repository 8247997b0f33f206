// Calls of the JSON API, and forms that use it without a reload. Errors are shown at the top of the page.

import { messageIn, showSentence } from "./sentences.js";

export const NO_ANSWER = "The appliance does not answer. Is this phone in its network?";
const PATIENCE = 250; // milliseconds without an effect after a press
const ANSWER_TIME = 6000; // milliseconds
const FORM_FIELDS = ["return_to", "method"]; // these are for the server's forms, not for the API

export async function callApi(path, values = {}, method = "POST") {
  let answer = null;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(values),
    });
  } catch {
    showNotice(NO_ANSWER);
    return null;
  }
  if (answer.status === 401) signIn();
  const result = await answer.json();
  showNotice(answer.ok ? "" : result.error);
  return answer.ok ? result : null;
}

export function signIn() {
  location.assign(`/sign-in?to=${encodeURIComponent(location.pathname)}`);
}

// The HTML of a part of the page, or null. After the session has ended, this leads to the sign-in.
export async function fetchPart(path) {
  const answer = await fetch(path).catch(() => null);
  if (answer && new URL(answer.url).pathname === "/sign-in") {
    signIn();
    return null;
  }
  return answer?.ok ? answer.text() : null;
}

// Any other notice stays until it has been read.
export function hideNoAnswer() {
  if (document.getElementById("notice").textContent === NO_ANSWER) showNotice("");
}

// Ask for confirmation where a form or its button has a question.
export function confirmForms() {
  document.addEventListener(
    "submit",
    (event) => {
      const question = event.submitter?.dataset.ask ?? event.target.dataset.ask;
      if (!question || confirm(question)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    { capture: true },
  );
}

// The operation of a form: the same path as in the API, below /do.
export const apiPath = (action) => action.replace(/^\/do/, "");

// A press is answered at once, before the appliance answers. Returns how to undo that.
export function showBusy(button) {
  if (!button?.dataset.busy) return () => {};
  const text = button.textContent;
  button.textContent = button.dataset.busy;
  button.setAttribute("aria-busy", "true");
  return () => {
    button.textContent = text;
    button.removeAttribute("aria-busy");
  };
}

// The same for forms that lead to another page. A refusal is shown on this one.
export function sendBusyForms() {
  document.addEventListener("submit", async (event) => {
    const { target, submitter } = event;
    if (event.defaultPrevented || !submitter?.dataset.busy) return;
    event.preventDefault();
    if (submitter.ariaBusy === "true") return;
    const endBusy = showBusy(submitter);
    const body = new URLSearchParams(new FormData(target));
    const answer = await fetch(target.action, { method: "POST", body }).catch(() => null);
    if (answer?.redirected) return location.assign(answer.url);
    endBusy();
    if (answer?.status === 401) return signIn();
    showNotice(answer ? errorIn(await answer.text()) : NO_ANSWER);
  });
}

// The message of a page with an error.
export function errorIn(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const found = page.querySelector("main [role=alert], #error") ?? page.querySelector("main") ?? page.body;
  return messageIn(found);
}

export function sendFormsToApi(onResult) {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.getAttribute("method") !== "post" || "plain" in form.dataset) return;
    event.preventDefault();
    const button = event.submitter;
    const fields = Object.fromEntries(new FormData(form));
    if (button?.name) fields[button.name] = button.value;
    const path = apiPath(button?.getAttribute("formaction") ?? form.getAttribute("action"));
    const values = Object.fromEntries(Object.entries(fields).filter(([name]) => !FORM_FIELDS.includes(name)));
    if (button?.ariaBusy === "true") return;
    const endBusy = showBusy(button);
    answerPress(button);
    const result = await callApi(path, values, fields.method);
    showAnswer(result ? (button?.dataset.doing ?? "") : "");
    if (result) onResult(path, button, result, endBusy);
    else endBusy();
  });
}

export function showNotice(sentence, kind = "") {
  const notice = document.getElementById("notice");
  notice.hidden = !sentence;
  showSentence(notice, sentence);
  notice.className = `notice ${sentence === NO_ANSWER ? "floating" : kind}`; // it comes and goes with the connection
  if (sentence) notice.scrollIntoView({ block: "nearest" });
}

let answering = 0; // the timer of the line at the bottom

// Answer a press at once with what the button does, or after a moment if its effect does not show sooner.
export function answerPress(button) {
  clearTimeout(answering);
  const show = (line) => (document.getElementById("answer").textContent = line);
  const { busy, doing } = button?.dataset ?? {};
  if (doing) show(doing);
  else if (!busy) answering = setTimeout(() => show("One moment …"), PATIENCE);
}

// Show the line that answers a press for a while, or remove it.
export function showAnswer(line) {
  clearTimeout(answering);
  const answer = document.getElementById("answer");
  answer.textContent = line;
  if (line) answering = setTimeout(() => (answer.textContent = ""), ANSWER_TIME);
}
