// The page of posts: loaded again when a run has ended, which may have changed some.

import { confirmForms } from "./api.js";
import { followState } from "./events.js";

let previous = document.querySelector("[data-ended]").dataset.ended; // when the page was made
confirmForms();
followState(({ jobs }) => {
  const ended = jobs.map(({ last }) => (last?.outcome ? last.id : "")).join();
  if (ended !== previous) location.reload();
  previous = ended;
}, "posts");
