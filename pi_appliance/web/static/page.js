// The first page, made live: without this file it works by reloading.

import { follow } from "./live.js";
import { showJobs, startTimes } from "./jobs.js";
import { showMusic, startClock } from "./player.js";
import { takeOverForms } from "./send.js";

startClock();
startTimes();
takeOverForms((path, told, button) => {
  if (path.startsWith("/player/")) showMusic(told);
  else button.disabled = true; // until the card is drawn anew
});
follow((state) => {
  showMusic(state);
  showJobs(state.jobs);
});
