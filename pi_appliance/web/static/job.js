// The page of a job: loaded again when a run of it begins or ends, or its pause or its failure changes.

import { confirmForms, sendBusyForms } from "./api.js";
import { followState } from "./events.js";
import { cardVersion } from "./jobs.js";

const watched = document.querySelector("[data-watch]");
confirmForms();
sendBusyForms();
if (watched) {
  followState(({ jobs }) => {
    const job = jobs.find((each) => each.job === watched.dataset.watch);
    if (!job) return;
    const isTyping = document.querySelector("details[open] form :focus") !== null;
    if (cardVersion(job) !== watched.dataset.version && !isTyping) location.reload();
  }, "none", [watched.dataset.watch]);
}
