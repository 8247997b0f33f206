// The page of a job or a run: loaded again when its job begins or ends a run.

import { follow } from "./live.js";
import { seen } from "./jobs.js";

const watched = document.querySelector("[data-watch]");
if (watched) {
  follow(({ jobs }) => {
    const job = jobs.find((each) => each.job === watched.dataset.watch);
    if (job && seen(job.last) !== watched.dataset.seen) location.reload();
  });
}
