// The puzzle of the day: arrows move, a tap or the space bar changes a mark, hints and checks need no reload, and what one writes stays on this device.

import { followState } from "./events.js";

const form = document.getElementById("puzzle");
const grid = form.querySelector("table.grid");
const said = document.getElementById("said");
const inputs = [...form.querySelectorAll(".grid input")];
const cells = [...form.querySelectorAll(".grid td:not(.label)")];
const width = Number(grid?.dataset.width ?? 0);
const { puzzle } = form.dataset;
const marks = grid?.dataset.cycle ? ["", ...grid.dataset.cycle] : []; // that a tap writes one after the other
const STORED = "puzzle:"; // one entry for each puzzle: the board and its symbols
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

followState();
document.getElementById("print").addEventListener("click", () => print());
if (grid) restore();
if (marks.length) inputs.forEach((each) => (each.inputMode = "none")); // a tap needs no keyboard

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await ask(event.submitter?.value ?? "check");
});

form.addEventListener("focusin", ({ target }) => {
  if (inputs.includes(target)) target.select();
});

form.addEventListener("input", ({ target }) => {
  if (!inputs.includes(target)) return;
  const symbol = target.value.toUpperCase();
  target.value = symbol && grid.dataset.symbols.includes(symbol) ? symbol : "";
  changed(target);
  if (target.value && inputs.every((each) => each.value)) ask("check");
});

form.addEventListener("click", ({ target }) => {
  if (inputs.includes(target)) change(target);
});

form.addEventListener("keydown", (event) => {
  if (event.key === " " && marks.length && inputs.includes(event.target)) {
    event.preventDefault();
    return change(event.target);
  }
  const move = MOVES[event.key];
  if (!move || !inputs.includes(event.target)) return;
  event.preventDefault();
  const [down, right] = move;
  let place = cells.indexOf(event.target.closest("td"));
  for (;;) {
    const column = (place % width) + right;
    place += down * width + right;
    if (column < 0 || column >= width || place < 0 || place >= cells.length) return;
    const next = cells[place].querySelector("input");
    if (next) return next.focus();
  }
});

function change(input) {
  if (!marks.length) return;
  input.value = marks[(marks.indexOf(input.value) + 1) % marks.length];
  changed(input);
}

function changed(input) {
  input.removeAttribute("aria-invalid");
  show(input);
  store();
}

function show(input) {
  if (marks.length) input.closest("td").dataset.symbol = input.value;
}

const filled = () => cells.map((cell) => cell.querySelector("input")?.value || ".").join("");

async function ask(what) {
  const values = { puzzle, ...(grid ? { filled: filled() } : {}), ...(what === "hint" ? { seen: form.elements.seen.value } : {}) };
  const answer = await fetch(`/api/v1/puzzles/${what}?${new URLSearchParams(values)}`).catch(() => null);
  if (!answer?.ok) return form.submit(); // the answer of the page says what is wrong
  const { id, text, cell, seen, wrong } = await answer.json();
  if (id !== form.elements.board.value) return location.reload();
  said.textContent = text;
  said.hidden = false;
  if (what === "hint") form.elements.seen.value = Math.max(seen, form.elements.seen.value);
  cells.forEach((each, number) => {
    each.classList.toggle("hinted", number === cell);
    const input = each.querySelector("input");
    if (wrong.includes(number)) input?.setAttribute("aria-invalid", "true");
    else input?.removeAttribute("aria-invalid");
  });
  if (!grid && seen) addHint(text, seen);
}

function addHint(text, number) {
  let list = form.querySelector(".hints");
  if (!list) {
    list = document.createElement("ol");
    list.className = "card plain hints";
    said.after(list);
  }
  if (list.children.length >= number) return;
  const item = document.createElement("li");
  item.textContent = text;
  list.append(item);
}

// A private window may refuse to store anything. Then the symbols last as long as the page.
function store() {
  try {
    localStorage.setItem(STORED + puzzle, JSON.stringify({ board: form.elements.board.value, filled: filled() }));
  } catch {
    return;
  }
}

function restore() {
  let stored = null;
  try {
    stored = JSON.parse(localStorage.getItem(STORED + puzzle));
  } catch {
    return;
  }
  if (stored?.board !== form.elements.board.value || inputs.some((each) => each.value)) return;
  cells.forEach((cell, number) => {
    const input = cell.querySelector("input");
    if (!input || stored.filled[number] === ".") return;
    input.value = stored.filled[number] ?? "";
    show(input);
  });
}
