// The page of a job or a run: loaded again when its job begins or ends a run, or its pause does.

import { follow } from "./live.js";
import { seen } from "./jobs.js";
import { askFirst } from "./send.js";

const watched = document.querySelector("[data-watch]");
askFirst();
if (watched) {
  follow(({ jobs }) => {
    const job = jobs.find((each) => each.job === watched.dataset.watch);
    if (!job) return;
    const key = seen("run" in watched.dataset ? { last: job.last } : job);
    if (key !== watched.dataset.seen) location.reload();
  });
}
