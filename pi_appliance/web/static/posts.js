// The page of posts: loaded again when a run has ended, which may have changed some.

import { confirmForms } from "./api.js";
import { followState } from "./events.js";

let previous = null;
confirmForms();
followState(({ jobs }) => {
  const ended = jobs.map(({ last }) => (last?.outcome ? last.id : "")).join();
  if (previous !== null && ended !== previous) location.reload();
  previous = ended;
}, "posts");
