// The code of an invitation: once the other device has used it, this page leads to the devices.

import { followState } from "./events.js";

const INTERVAL = 2000; // milliseconds

followState();
setInterval(async () => {
  if (document.visibilityState === "hidden") return;
  const answer = await fetch(location.href).catch(() => null);
  if (answer?.redirected) location.replace(answer.url);
}, INTERVAL);
