// The page of a run: adds what the run prints until it ends. The text scrolls along only if its end is in view.

import { confirmForms, fetchPart, hideNoAnswer, NO_ANSWER, showNotice, signIn } from "./api.js";
import { followState } from "./events.js";

const FIRST_DELAY = 500; // milliseconds between two questions; longer while nothing is printed
const MAX_DELAY = 5000;
const output = document.getElementById("output");
const { run } = output.dataset;
let length = Number(output.dataset.length); // characters that are shown or were cut

confirmForms();
followState();
output.scrollTop = output.scrollHeight;
if (run) follow(FIRST_DELAY);

async function follow(delay) {
  await new Promise((done) => setTimeout(done, delay));
  if (document.visibilityState !== "visible") {
    document.addEventListener("visibilitychange", () => follow(0), { once: true });
    return;
  }
  const answer = await fetch(`/api/v1/runs/${run}?start=${length}`).catch(() => null);
  if (answer?.status === 401) return signIn();
  if (!answer?.ok) {
    showNotice(NO_ANSWER);
    return follow(MAX_DELAY);
  }
  hideNoAnswer();
  const { log, outcome, progress, status_text } = await answer.json();
  const printed = outcome ? log : log.replace(/\ufffd+$/, ""); // a part of a character, whose rest is not written yet
  if (printed) add(printed);
  if (outcome) return end();
  document.getElementById("doing").textContent = status_text;
  const bar = document.querySelector("#facts progress");
  if (progress === null) bar.removeAttribute("value");
  else bar.value = progress;
  return follow(printed ? FIRST_DELAY : Math.min(1.5 * Math.max(delay, FIRST_DELAY), MAX_DELAY));
}

function add(printed) {
  const isAtEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 8;
  length += [...printed].length;
  document.getElementById("silent").hidden = true;
  output.append(printed);
  const excess = output.textContent.length - Number(output.dataset.max);
  if (excess > 0) output.textContent = output.textContent.slice(excess);
  if (isAtEnd) output.scrollTop = output.scrollHeight;
}

async function end() {
  const facts = await fetchPart(`/parts/runs/${run}`);
  if (facts !== null) document.getElementById("facts").outerHTML = facts;
  if (!output.textContent) document.getElementById("silent").textContent = "It printed nothing.";
}
