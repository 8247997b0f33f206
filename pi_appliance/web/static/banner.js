// The banner: what is not as it should be, in the words of the server; and that the clock was set while the page was open.

import { seen } from "./jobs.js";

let steps = null; // of the clock, before the page was opened
let drawn = null; // what the banner was drawn for

export function showBanner({ scheduler, jobs }) {
  steps = Math.min(steps ?? scheduler.steps, scheduler.steps); // an appliance that starts anew counts anew
  const stepped = document.getElementById("stepped");
  stepped.hidden = scheduler.steps === steps;
  if (!stepped.hidden) stepped.textContent = `While this page was open, ${scheduler.last_step}.`;
  const { clock, trouble } = scheduler;
  const rung = jobs.filter((job) => job.kind === "music" && job.running).map((job) => [seen(job), /^snoozing/.test(job.last.status_text)]);
  const key = JSON.stringify([rung, clock, scheduler.clock_wait, trouble, jobs.filter((job) => job.failing).map(seen)]);
  if (key !== drawn) draw(key);
}

async function draw(key) {
  drawn = key;
  const answer = await fetch("/parts/banner").catch(() => null);
  if (answer?.ok) document.getElementById("banner").innerHTML = await answer.text();
  else drawn = null; // so that the next state tries again
}
