// The editor of the configuration file: its problems and what fits at the cursor, as one types.

import { callApi } from "./api.js";
import { showSentence } from "./sentences.js";

const DELAYS = { complete: 100, check: 250 }; // milliseconds without a key
const file = document.getElementById("file");
const numbers = document.getElementById("numbers");
const box = document.getElementById("problems");
const atLine = document.getElementById("at-line");
const note = document.getElementById("line-note");
const list = document.getElementById("completions");
const timers = {};
let problems = [...box.querySelectorAll("[data-line]")].map(({ dataset }) => ({ line: Number(dataset.line), message: "" }));
let column = 1; // where the word begins that a candidate replaces
let insertions = [];
let active = -1;

// The place of the cursor, both from 1.
function cursor() {
  const lines = file.value.slice(0, file.selectionStart).split("\n");
  return { line: lines.length, column: lines.at(-1).length + 1 };
}

async function check() {
  const text = file.value;
  const result = await callApi("/config/check", { text });
  if (!result || text !== file.value) return;
  problems = result.problems;
  file.closest(".numbered").after(box); // above the text, it would move the text under the finger
  box.replaceChildren(...problems.map(problemLine));
  box.hidden = problems.length === 0;
  number();
  showAtLine();
}

const sentence = ({ message, hint }) => `${message}${hint ? `; ${hint}` : ""}`;

function problemLine(problem) {
  const paragraph = document.createElement("p");
  const link = Object.assign(document.createElement("a"), { href: "#file", textContent: `Line ${problem.line}` });
  link.dataset.line = problem.line;
  const text = document.createElement("span");
  showSentence(text, sentence(problem));
  paragraph.append(link, ": ", text);
  return paragraph;
}

// The numbers of the lines, with a mark at each that has a problem.
function number() {
  const wrong = new Set(problems.map(({ line }) => line));
  const lines = file.value.split("\n").map((_, index) => Object.assign(document.createElement("span"), {
    textContent: `${index + 1}\n`,
    className: wrong.has(index + 1) ? "wrong" : "",
  }));
  numbers.replaceChildren(...lines);
  numbers.scrollTop = file.scrollTop;
}

async function complete() {
  const text = file.value;
  const place = cursor();
  const result = await callApi("/config/complete", { text, ...place });
  const now = cursor();
  if (!result || text !== file.value || now.line !== place.line || now.column !== place.column) return;
  column = result.column;
  insertions = result.candidates.map(({ insert }) => insert);
  list.replaceChildren(...result.candidates.map(option));
  choose(-1);
  list.scrollTop = 0;
  showAtLine();
}

function option({ text, help }, index) {
  const item = Object.assign(document.createElement("li"), { id: `completion-${index}`, role: "option" });
  item.setAttribute("aria-selected", "false");
  item.append(Object.assign(document.createElement("span"), { className: "name", textContent: text }));
  item.append(Object.assign(document.createElement("span"), { className: "quiet", textContent: help }));
  return item;
}

// Show the problem of the line of the cursor, and what fits there, below that line.
function showAtLine() {
  const { line } = cursor();
  const found = problems.find((problem) => problem.line === line && problem.message);
  showSentence(note, found ? sentence(found) : "");
  note.hidden = !found;
  list.hidden = !list.children.length;
  atLine.hidden = note.hidden && list.hidden;
  const { lineHeight, paddingTop } = getComputedStyle(file);
  const top = line * parseFloat(lineHeight) + parseFloat(paddingTop) - file.scrollTop;
  atLine.style.top = `${Math.min(Math.max(top, 0), file.clientHeight)}px`;
  atLine.style.insetInlineStart = `${file.offsetLeft}px`;
}

function closeList() {
  clearTimeout(timers.complete);
  list.replaceChildren();
  choose(-1);
  showAtLine();
}

function choose(index) {
  list.children[active]?.setAttribute("aria-selected", "false");
  active = index;
  const chosen = list.children[active];
  chosen?.setAttribute("aria-selected", "true");
  chosen?.scrollIntoView({ block: "nearest" });
  if (chosen) file.setAttribute("aria-activedescendant", chosen.id);
  else file.removeAttribute("aria-activedescendant");
}

function insert(index) {
  const end = file.selectionStart;
  file.setSelectionRange(end - (cursor().column - column), end);
  document.execCommand("insertText", false, insertions[index]); // as if typed: it can be undone
}

function later(what, action) {
  clearTimeout(timers[what]);
  timers[what] = setTimeout(action, DELAYS[what]);
}

const keys = {
  ArrowDown: () => choose((active + 1) % list.children.length),
  ArrowUp: () => choose((active < 1 ? list.children.length : active) - 1),
  Enter: () => insert(active),
  Escape: closeList,
};

file.addEventListener("keydown", (event) => {
  if (event.key === " " && event.ctrlKey) {
    event.preventDefault();
    complete();
  } else if (list.children.length && keys[event.key] && (event.key !== "Enter" || active >= 0)) {
    event.preventDefault();
    keys[event.key]();
  }
});
file.addEventListener("input", () => {
  number();
  closeList();
  later("complete", complete);
  later("check", check);
});
file.addEventListener("scroll", () => {
  numbers.scrollTop = file.scrollTop;
  showAtLine();
});
file.addEventListener("blur", closeList);
let last = "";
document.addEventListener("selectionchange", () => {
  const { line, column: place } = cursor();
  if (document.activeElement !== file || last === `${line}:${place}:${file.value.length}`) return;
  if (last.split(":")[2] === `${file.value.length}`) closeList(); // the cursor was moved without a change
  last = `${line}:${place}:${file.value.length}`;
});
list.addEventListener("pointerdown", (event) => event.preventDefault()); // the text keeps the focus
list.addEventListener("click", (event) => {
  const item = event.target.closest("[role=option]");
  if (item) insert([...list.children].indexOf(item));
});

// A problem leads to its line.
box.addEventListener("click", (event) => {
  const line = Number(event.target.dataset.line);
  if (!line) return;
  event.preventDefault();
  const lines = file.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  file.focus();
  file.setSelectionRange(start, start + lines[line - 1].length);
  file.scrollTop = (file.scrollHeight / lines.length) * Math.max(line - 4, 0);
});

number();
