// Settings: time zones to choose from, and presses without a reload.

import { confirmForms, sendFormsToApi, showNotice } from "./api.js";
import { followState } from "./events.js";

confirmForms();
followState(); // the mini player
sendFormsToApi((path, button, result) => {
  if (path.startsWith("/config/history/")) location.assign("/settings?saved");
  else if (path === "/player/check") showNotice(`${result.text}.`, "good");
  else showNotice("Sent.", "good");
});

// What is typed is checked, not what is saved. Another kind has another address, and its options appear when it is saved.
const kind = document.querySelector("[name='player.kind']");
const address = document.querySelector("[name='player.with.address']");
document.getElementById("check-player")?.addEventListener("formdata", ({ formData }) => {
  formData.set("kind", kind.value);
  formData.set("address", address?.value ?? "");
});
kind?.addEventListener("change", () => {
  for (const field of document.querySelectorAll("[name^='player.with.']")) {
    if (field === address) Object.assign(field, { value: "", placeholder: "" });
    else field.closest(".setting").hidden = true;
  }
});

const zones = document.getElementById("zones");
for (const zone of (zones && Intl.supportedValuesOf?.("timeZone")) ?? []) {
  zones.append(Object.assign(document.createElement("option"), { value: zone }));
}
