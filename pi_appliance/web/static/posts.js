// The page of posts: loaded again when a run has ended, for that may have changed some.

import { follow } from "./live.js";
import { askFirst } from "./send.js";

let before = null;
askFirst();
follow(({ jobs }) => {
  const ended = jobs.map(({ last }) => (last?.outcome ? last.id : "")).join();
  if (before !== null && ended !== before) location.reload();
  before = ended;
});
