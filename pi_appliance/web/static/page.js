// The first page, made live: without this file it works by reloading.

import { follow } from "./live.js";
import { showBanner } from "./banner.js";
import { showJobs, startTimes } from "./jobs.js";
import { showMusic, startClock } from "./player.js";
import { askFirst, takeOverForms } from "./send.js";

startClock();
startTimes();
askFirst();
// What the player then does comes as an event. The answer to the press may be older than the last event, so it is not shown.
takeOverForms((path, told, button) => {
  if (path.startsWith("/jobs/")) button.disabled = true; // until the card is drawn anew
});
follow((state) => {
  showMusic(state);
  showBanner(state);
  showJobs(state.jobs);
});
