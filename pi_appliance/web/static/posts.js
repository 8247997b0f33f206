// The page of posts: loaded again when a run has ended, which may have changed some.

import { confirmForms } from "./api.js";
import { followState } from "./events.js";

// For each job, the newest run that the page knows to have ended. The first state may be older than the page.
const ended = JSON.parse(document.querySelector("[data-ended]").dataset.ended);
confirmForms();
followState(({ jobs }) => {
  const later = jobs.filter(({ job, last }) => last?.outcome && last.id > (ended[job] ?? 0));
  for (const { job, last } of later) ended[job] = last.id;
  if (later.length) location.reload();
}, "posts");
