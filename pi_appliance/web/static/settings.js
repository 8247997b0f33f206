// Settings: time zones to choose from, and presses without a reload.

import { confirmForms, sendFormsToApi, showNotice } from "./api.js";
import { followState } from "./events.js";

confirmForms();
// The answer is shown at the button that was pressed, which may be far below the top.
document.addEventListener("submit", ({ submitter }) => submitter?.closest(".setting")?.after(document.getElementById("notice")));
followState(); // the mini player
sendFormsToApi((path, button, result, endBusy) => {
  endBusy();
  if (path.startsWith("/config/history/")) location.assign(button.form.elements.return_to.value);
  else if (path === "/player/check") showNotice(result.text, "good");
  else showTests(result);
});

function showTests(results) {
  const failed = results.filter(({ error }) => error);
  const lines = failed.map(({ notifier, error }) => `${notifier}: not sent: ${error}`);
  showNotice(lines.join(" ") || "Sent. Look for the message.", lines.length ? "bad" : "good");
}

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
