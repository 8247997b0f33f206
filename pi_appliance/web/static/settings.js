// Settings: time zones to choose from, and the problems of the file while it is edited.

import { callApi, confirmForms, sendFormsToApi, showNotice } from "./api.js";
import { followState } from "./events.js";

confirmForms();
followState(); // the mini player
sendFormsToApi((path) => {
  if (path.startsWith("/config/history/")) location.assign("/settings?saved");
  else showNotice("Sent.", "good");
});

const zones = document.getElementById("zones");
for (const zone of (zones && Intl.supportedValuesOf?.("timeZone")) ?? []) {
  zones.append(Object.assign(document.createElement("option"), { value: zone }));
}

const file = document.getElementById("file");
const DELAY = 500; // milliseconds without a key
let waiting = 0;

const numbers = document.getElementById("numbers");
let wrong = [...document.querySelectorAll("#problems [data-line]")].map(({ dataset }) => Number(dataset.line));

async function check() {
  const text = file.value;
  const result = await callApi("/config/check", { text });
  if (!result || text !== file.value) return;
  const box = document.getElementById("problems");
  box.replaceChildren(...result.problems.map(problemLine));
  box.hidden = result.problems.length === 0;
  wrong = result.problems.map(({ line }) => line);
  number();
}

function problemLine({ line, message, hint }) {
  const problem = document.createElement("p");
  const link = Object.assign(document.createElement("a"), { href: "#file", textContent: `Line ${line}` });
  link.dataset.line = line;
  problem.append(link, `: ${message}${hint ? `; ${hint}` : ""}`);
  return problem;
}

// The numbers of the lines, with a mark at each that has a problem.
function number() {
  const lines = file.value.split("\n").map((_, index) => Object.assign(document.createElement("span"), {
    textContent: `${index + 1}\n`,
    className: wrong.includes(index + 1) ? "wrong" : "",
  }));
  numbers.replaceChildren(...lines);
  numbers.scrollTop = file.scrollTop;
}

// A problem leads to its line.
document.getElementById("problems")?.addEventListener("click", (event) => {
  const line = Number(event.target.dataset.line);
  if (!line) return;
  event.preventDefault();
  const lines = file.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  file.focus();
  file.setSelectionRange(start, start + lines[line - 1].length);
  file.scrollTop = (file.scrollHeight / lines.length) * Math.max(line - 4, 0);
});

if (file) {
  number();
  file.addEventListener("scroll", () => (numbers.scrollTop = file.scrollTop));
  file.addEventListener("input", () => {
    number();
    clearTimeout(waiting);
    waiting = setTimeout(check, DELAY);
  });
}
