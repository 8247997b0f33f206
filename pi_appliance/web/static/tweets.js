// Tweets: forms, what became of a post, and the length of a text on each network as one types.

import { callApi, confirmForms, fetchPart, sendFormsToApi, showAnswer, showNotice } from "./api.js";
import { followState } from "./events.js";

const DELAY = 300; // milliseconds without a key
const job = document.querySelector("[name=job]")?.value;
let asked = null; // the run that a press of "Post now" has asked for, as its history names it
let button = null; // its button, and how it ends to be busy
let endBusy = () => {};

confirmForms();
sendFormsToApi((path, pressed, result, end) => {
  if (path !== "/tweets/post") return location.reload();
  endBusy();
  [asked, button, endBusy] = [`request:${result.request}`, pressed, end];
});
followState(async () => {
  const wanted = asked;
  if (!wanted) return;
  const answer = await fetch(`/api/v1/runs?${new URLSearchParams({ job, count: 10 })}`).catch(() => null);
  const runs = answer?.ok ? await answer.json() : [];
  const run = runs.find((each) => each.scheduled_for === wanted);
  if (run?.outcome && asked === wanted) showResult(run);
}, "none", job ? [job] : []);

// The lines as they are now, and the result of the run. A text that somebody is typing stays.
async function showResult({ outcome, summary }) {
  asked = null;
  endBusy();
  const line = summary.slice(0, 1).toUpperCase() + summary.slice(1) || outcome;
  if (outcome === "succeeded") showAnswer(line);
  else showNotice(line);
  const text = await fetchPart(location.pathname + location.search);
  if (text === null) return;
  const isPosted = button.closest("form")?.matches("#new-line form");
  const typed = isPosted ? "" : document.getElementById("text-new").value;
  const drawn = new DOMParser().parseFromString(text, "text/html").querySelector(".tweets");
  document.querySelector(".tweets").replaceWith(document.adoptNode(drawn));
  document.getElementById("text-new").value = typed;
}

async function count(form) {
  const field = form.elements.text;
  const text = field.value.trim();
  const place = form.querySelector("[data-count]");
  if (!text || text.includes("\n")) {
    place.textContent = text ? "A line has no line break." : "";
    return;
  }
  const result = await callApi("/tweets/check", { text, job });
  if (!result || text !== field.value.trim()) return;
  const lengths = result.networks.map(({ network, length, max_length: max }) => `${network} ${length} of ${max}`);
  const cost = Number(result.cost) ? [`$${Number(result.cost).toFixed(3)}`] : [];
  const problems = result.problems.map(({ message }) => message);
  place.textContent = [...lengths, ...cost, ...problems].join(" · ");
  place.classList.toggle("bad", !result.good);
}

let waiting = 0;
document.addEventListener("input", ({ target }) => {
  const form = target.closest("form.checked");
  if (!form) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => count(form), DELAY);
});

// A link to a line opens its menu.
function openTarget() {
  const menu = document.querySelector(":target > :is(.menu, .edit)");
  if (menu) menu.open = true;
}
window.addEventListener("hashchange", openTarget);

// "Add" leads to the new line, so that one can type at once.
document.addEventListener("click", (event) => {
  if (event.target.closest("a")?.hash !== "#new-line") return;
  event.preventDefault();
  document.getElementById("text-new").focus();
});
openTarget();
