// The form of a job: shows the schedule in words and its next times while one types.

import { fetchPart } from "./api.js";
import { followState } from "./events.js";

const DELAY = 250; // milliseconds without a key
const form = document.getElementById("job");
const NAMES = ["repeat", "times", "days", "count", "unit", "day", "time", "cron", "one_in", "chance", "time-zone"];
let waiting = 0;

followState();
form.addEventListener("input", ({ target }) => {
  if (!NAMES.includes(target.name)) return;
  if (target.name === "times") addBlankTime();
  clearTimeout(waiting);
  waiting = setTimeout(show, DELAY);
});
const save = document.querySelector("button[form=job]");
form.addEventListener("submit", () => save.setAttribute("disabled", ""));
addEventListener("pageshow", () => save.removeAttribute("disabled"));

function addBlankTime() {
  const inputs = [...form.querySelectorAll("[name=times]")];
  const last = inputs.at(-1);
  if (!last.value) return;
  const blank = last.cloneNode();
  blank.value = "";
  blank.removeAttribute("value");
  last.after(blank);
}

async function show() {
  const fields = [...new FormData(form)].filter(([name]) => NAMES.includes(name));
  const query = new URLSearchParams([...fields, ["job", form.dataset.job]]).toString();
  const part = await fetchPart(`/parts/schedule?${query}`);
  if (part !== null) document.getElementById("when").innerHTML = part;
}
