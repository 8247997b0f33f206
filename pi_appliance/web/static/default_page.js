// The pages without a script of their own, and the first pages of Music and Jobs: no reloads.

import { confirmForms, sendFormsToApi } from "./api.js";
import { showBanner } from "./banner.js";
import { followState } from "./events.js";
import { showJobs, startTimes } from "./jobs.js";
import { showMusic, startPlayer } from "./player.js";

const hasPlayer = document.getElementById("player");
const hasJobs = document.getElementById("jobs");
const hasBanner = document.getElementById("banner");
if (hasPlayer) startPlayer();
startTimes();
confirmForms();
// The effect on the player comes as an event. The result may be older than the last event, so it is not shown.
sendFormsToApi((path, button) => {
  if (path.startsWith("/jobs/")) button.disabled = true; // until the card is drawn again
});
followState((state) => {
  if (hasPlayer) showMusic(state);
  if (hasBanner) showBanner(state);
  if (hasJobs) showJobs(state.jobs);
}, hasJobs ? "jobs" : "music", [...document.querySelectorAll("[data-job]")].map(({ dataset }) => dataset.job));
