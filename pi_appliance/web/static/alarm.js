// The form of an alarm: choose sources, hear them, and see when it will ring. Without scripts, the form works as well.

import { answerPress, callApi, showAnswer } from "./api.js";
import { followState } from "./events.js";

const WEEK = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const byId = (id) => document.getElementById(id);
const form = byId("alarm");
const rows = byId("sources");
const emptyRow = rows.lastElementChild.cloneNode(true);
const quietHours = [...document.querySelectorAll("[data-quiet]")];
const opened = Date.now();
let search = null; // the newest search of albums

followState();
form.addEventListener("input", show);
form.addEventListener("submit", () => document.querySelector("button[form=alarm]").setAttribute("disabled", ""));
addEventListener("pageshow", () => document.querySelector("button[form=alarm]").removeAttribute("disabled"));
byId("find").addEventListener("input", find);
byId("find").addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
byId("hear").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { submitter } = event;
  answerPress(submitter);
  const result = await callApi("/player/play-now", { source: [submitter.value] });
  showAnswer(result ? submitter.dataset.doing : "");
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  const row = button?.closest(".source");
  if (button?.dataset.source) addSource(button.dataset.source);
  else if (row && "remove" in button.dataset) row.remove();
  else if (row && "move" in button.dataset) row.previousElementSibling?.before(row);
  show();
});
setInterval(show, 10_000);
show();

function addSource(source) {
  const inputs = [...rows.querySelectorAll("input")];
  const chosen = inputs.find((input) => input.value === source);
  if (chosen) return chosen.closest(".source").remove(); // a second tap undoes the first
  const empty = inputs.find((input) => !input.value) ?? addRow();
  empty.value = source;
}

function addRow() {
  rows.append(emptyRow.cloneNode(true));
  return rows.lastElementChild.querySelector("input");
}

function show() {
  if (!rows.children.length) addRow();
  for (const row of rows.children) {
    const source = row.querySelector("input").value.trim();
    const hear = row.querySelector("[form=hear]");
    hear.hidden = !source;
    hear.value = source;
    hear.dataset.doing = `Starting ${source} …`;
    hear.ariaLabel = `Hear ${source}`;
    row.querySelector("[data-move]").hidden = !source || row === rows.firstElementChild;
    row.querySelector("[data-remove]").hidden = rows.children.length === 1;
  }
  const chosen = [...rows.querySelectorAll("input")].map((input) => input.value.trim());
  for (const button of byId("found").children) button.ariaPressed = chosen.includes(button.dataset.source);
  const volume = byId("volume");
  volume.style.setProperty("--filled", `${volume.value}%`);
  const ring = nextRing();
  const limit = byId("limit");
  const maximum = ring && limit.dataset.always ? allowedAt(ring) : Number(limit.dataset.maximum);
  byId("volume-shown").textContent = Math.min(volume.value, maximum);
  const more = Number(volume.value) > maximum ? ` It will be ${maximum}, not ${volume.value}.` : "";
  volume.parentElement.style.setProperty("--limit", maximum / 100);
  limit.textContent = `The highest allowed volume${quietHours.length ? " at that time" : ""} is ${maximum}.${more}`;
  limit.hidden = maximum === 100;
  const { skips, off } = byId("rings-in").dataset;
  if (ring && off === undefined) byId("rings-in").textContent = `Rings in ${duration(ring - now())}${isStored() ? skips : ""}`;
}

// The time at the appliance, whose time zone may be another one than that of the phone.
function now() {
  return new Date(new Date(`${byId("rings-in").dataset.now}Z`).getTime() + Date.now() - opened);
}

// Whether time and days are those of the stored alarm. When that rings next, the server knows: it may skip a ring.
function isStored() {
  const { time, days } = form.elements;
  return time.value === time.defaultValue && [...days].every((each) => each.checked === each.defaultChecked);
}

function nextRing() {
  const stored = new Date(`${byId("rings-in").dataset.ring}Z`);
  if (isStored() && stored > now()) return stored;
  if (!form.elements.time.value) return null;
  const days = [...form.querySelectorAll("[name=days]:checked")].map((each) => each.value);
  const [hours, minutes] = form.elements.time.value.split(":").map(Number);
  for (let day = 0; day <= 7; day += 1) {
    const ring = now();
    ring.setUTCDate(ring.getUTCDate() + day);
    ring.setUTCHours(hours, minutes, 0, 0);
    if (ring > now() && (!days.length || days.includes(WEEK[ring.getUTCDay()]))) return ring;
  }
  return null;
}

// The highest volume when it is at its loudest. Quiet hours may begin on the day before.
function allowedAt(ring) {
  const loudest = new Date(ring.getTime() + milliseconds(form.elements.fade.value));
  const time = loudest.toISOString().slice(11, 16);
  const today = loudest.getUTCDay();
  const limits = quietHours.filter(({ dataset: { from, to, days } }) => {
    const [isToday, isYesterday] = [today, (today + 6) % 7].map((day) => days.includes(day));
    return from < to ? isToday && from <= time && time < to : (isToday && time >= from) || (isYesterday && time < to);
  });
  return Math.min(byId("limit").dataset.always, ...limits.map(({ dataset }) => dataset.quiet));
}

// The milliseconds of a duration such as 1h30m.
function milliseconds(text) {
  const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };
  return [...text.matchAll(/(\d+)([dhms])/g)].reduce((sum, [, count, unit]) => sum + count * units[unit], 0);
}

function duration(length) {
  const minutes = Math.ceil(length / 60_000);
  const parts = [[Math.floor(minutes / 1440), "d"], [Math.floor(minutes / 60) % 24, "h"], [minutes % 60, "min"]];
  return parts.filter(([count]) => count).map(([count, unit]) => `${count} ${unit}`).join(" ");
}

// Filter the stations and playlists, and look for albums.
async function find() {
  const words = byId("find").value.trim().toLowerCase();
  for (const button of byId("found").querySelectorAll("button")) {
    button.hidden = !button.textContent.toLowerCase().includes(words);
    if ("album" in button.dataset) button.remove();
  }
  if (words.length < 2) return;
  search = words;
  const answer = await fetch(`/api/v1/player/albums?${new URLSearchParams({ search: words, count: 12 })}`).catch(() => null);
  if (!answer?.ok || search !== words) return;
  for (const album of (await answer.json()).items) {
    const button = document.createElement("button");
    Object.assign(button.dataset, { source: `album:${album.name}`, album: "" });
    button.type = "button";
    button.textContent = `album ${album.name}`;
    byId("found").append(button);
  }
}
