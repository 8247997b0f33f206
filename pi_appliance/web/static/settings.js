// Settings: time zones to choose from, and presses without a reload.

import { confirmForms, sendFormsToApi, showNotice } from "./api.js";
import { followState } from "./events.js";

confirmForms();
followState(); // the mini player
sendFormsToApi((path) => {
  if (path.startsWith("/config/history/")) location.assign("/settings?saved");
  else showNotice("Sent.", "good");
});

const zones = document.getElementById("zones");
for (const zone of (zones && Intl.supportedValuesOf?.("timeZone")) ?? []) {
  zones.append(Object.assign(document.createElement("option"), { value: zone }));
}
