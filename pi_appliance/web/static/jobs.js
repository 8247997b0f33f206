// The jobs: the server draws a card again when a run begins or ends. In between only its progress bar changes.

import { fetchPart } from "./api.js";
import { ago } from "./time.js";

// jobs/pages.py does the same on the server.
export const cardVersion = ({ last, paused, failing, waiting }) =>
  (last ? `${last.id}:${last.outcome ?? ""}` : "") + "|" + (paused ? `${paused.since}/${paused.until ?? ""}` : "")
  + (failing ? "|failing" : "") + (waiting ? "|waiting" : "");

export function showJobs(every) {
  const cards = [...document.querySelectorAll("[data-job]")];
  const { start, length, hidden } = document.getElementById("jobs").dataset;
  const jobs = every.filter(({ job }) => !hidden.split(" ").includes(job));
  const shown = jobs.slice(Number(start), Number(start) + cards.length);
  if (Number(length) !== jobs.length || cards.some((card, index) => card.dataset.job !== shown[index].job)) {
    location.reload(); // the configuration was read again
    return;
  }
  for (const [index, each] of shown.entries()) {
    const { job, last, next } = each;
    const card = cards[index];
    const version = cardVersion(each);
    const slot = next?.slot ?? "";
    card.dataset.slot ??= slot;
    if (card.dataset.version !== version || card.dataset.slot !== slot) drawCard(job, version, slot);
    else if (last && !last.outcome) showProgress(card, last);
  }
}

export function startTimes() {
  const show = () => {
    for (const time of document.querySelectorAll("time")) time.textContent = ago(Date.parse(time.dateTime));
  };
  setInterval(() => document.visibilityState === "visible" && show(), 20_000);
}

async function drawCard(job, version, slot) {
  const old = document.getElementById(`job-${job}`);
  const [run] = version.split("|");
  const hasEnded = old.dataset.version.split("|")[0] !== run && !run.endsWith(":");
  Object.assign(old.dataset, { version, slot });
  const part = await fetchPart(`/parts/jobs/${job}`);
  const card = document.getElementById(`job-${job}`);
  if (part === null) {
    card.dataset.version = "?"; // the next state tries again
    return;
  }
  const focused = [...card.querySelectorAll("a, button")].indexOf(document.activeElement);
  card.outerHTML = part;
  const drawn = document.getElementById(`job-${job}`);
  drawn.dataset.slot = slot;
  if (focused >= 0) drawn.querySelectorAll("a, button")[focused]?.focus({ preventScroll: true });
  if (hasEnded) for (const part of ["posts", "reports"]) drawPart(part);
}

async function drawPart(name) {
  const part = await fetchPart(`/parts/${name}`);
  if (part !== null) document.getElementById(name).innerHTML = part;
}

function showProgress(card, { progress, status_text }) {
  const bar = card.querySelector("progress");
  if (progress === null) bar.removeAttribute("value");
  else bar.value = progress;
  card.querySelector(".percent").textContent = progress === null ? "" : `${Math.round(100 * progress)}%`;
  card.querySelector(".doing").textContent = status_text;
}
