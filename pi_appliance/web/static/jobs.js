// The jobs: a card whose run began or ended is drawn anew by the server; in between only its bar moves.

import { ago } from "./words.js";

export const seen = ({ last, paused }) =>
  (last ? `${last.id}:${last.outcome ?? ""}` : "") + "|" + (paused ? `${paused.since}/${paused.until ?? ""}` : "");

export function showJobs(jobs) {
  const cards = [...document.querySelectorAll("[data-job]")];
  if (cards.map((card) => card.dataset.job).join() !== jobs.map((each) => each.job).join()) {
    location.reload(); // the configuration was read again
    return;
  }
  for (const [place, each] of jobs.entries()) {
    const { job, last, next } = each;
    const card = cards[place];
    const key = seen(each);
    const slot = next?.slot ?? "";
    card.dataset.slot ??= slot;
    if (card.dataset.seen !== key || card.dataset.slot !== slot) draw(job, key, slot);
    else if (last && !last.outcome) move(card, last);
  }
}

export function startTimes() {
  const show = () => {
    for (const time of document.querySelectorAll("time")) time.textContent = ago(Date.parse(time.dateTime));
  };
  setInterval(() => document.visibilityState === "visible" && show(), 20_000);
}

async function draw(job, key, slot) {
  const old = document.getElementById(`job-${job}`);
  const [run] = key.split("|");
  const ended = old.dataset.seen.split("|")[0] !== run && !run.endsWith(":");
  Object.assign(old.dataset, { seen: key, slot });
  const answer = await fetch(`/parts/jobs/${job}`).catch(() => null);
  const card = document.getElementById(`job-${job}`);
  if (!answer?.ok) {
    card.dataset.seen = "?"; // so that the next state tries again
    return;
  }
  const held = [...card.querySelectorAll("a, button")].indexOf(document.activeElement);
  card.outerHTML = await answer.text();
  const drawn = document.getElementById(`job-${job}`);
  drawn.dataset.slot = slot;
  if (held >= 0) drawn.querySelectorAll("a, button")[held]?.focus({ preventScroll: true });
  if (ended) for (const part of ["posts", "reports"]) drawPart(part);
}

async function drawPart(part) {
  const answer = await fetch(`/parts/${part}`).catch(() => null);
  if (answer?.ok) document.getElementById(part).innerHTML = await answer.text();
}

function move(card, { progress, note }) {
  const bar = card.querySelector("progress");
  if (progress === null) bar.removeAttribute("value");
  else bar.value = progress;
  card.querySelector(".percent").textContent = progress === null ? "" : `${Math.round(100 * progress)}%`;
  card.querySelector(".doing").textContent = note;
}
