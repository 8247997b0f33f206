// The page of a job or a run: loaded again when a run of the job begins or ends, or its pause changes.

import { confirmForms } from "./api.js";
import { followState } from "./events.js";
import { cardVersion } from "./jobs.js";

const watched = document.querySelector("[data-watch]");
confirmForms();
if (watched) {
  followState(({ jobs }) => {
    const job = jobs.find((each) => each.job === watched.dataset.watch);
    if (!job) return;
    const version = cardVersion("run" in watched.dataset ? { last: job.last } : job);
    if (version !== watched.dataset.version) location.reload();
  });
}
