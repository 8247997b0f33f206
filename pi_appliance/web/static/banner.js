// The banner with the current problems, the sleep timer beside the title of Music, and the notice that the clock was set while the page was open.

import { fetchPart } from "./api.js";
import { cardVersion } from "./jobs.js";

let firstSteps = null; // steps of the clock before the page was opened
let drawnKey = null; // the state for which the banner was drawn

export function showBanner({ scheduler, jobs, error: playerError }) {
  firstSteps = Math.min(firstSteps ?? scheduler.steps, scheduler.steps); // a restarted appliance counts from 0
  const stepped = document.getElementById("stepped");
  stepped.hidden = scheduler.steps === firstSteps;
  if (!stepped.hidden) stepped.textContent = `While this page was open, ${scheduler.last_step}.`;
  const { clock, clock_wait, error } = scheduler;
  const ringing = jobs
    .filter((job) => job.kind === "music" && job.running)
    .map((job) => [cardVersion(job), isSnoozing(job)]);
  const failing = jobs.filter((job) => job.failing).map(cardVersion);
  const key = JSON.stringify([ringing, clock, clock_wait, error, playerError, failing]);
  if (key !== drawnKey) draw(key);
}

export const isSnoozing = ({ last }) => /^snoozing/.test(last.status_text);

async function draw(key) {
  drawnKey = key;
  for (const element of document.querySelectorAll("#banner, #sleep")) {
    const part = await fetchPart(element.dataset.part);
    if (part !== null) element.innerHTML = part;
    else drawnKey = null; // the next state tries again
  }
}
