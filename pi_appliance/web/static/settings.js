// Settings: time zones to choose from, and the problems of the file while it is edited.

import { callApi, confirmForms, sendFormsToApi, showNotice } from "./api.js";

confirmForms();
sendFormsToApi((path) => {
  if (path.startsWith("/config/history/")) location.assign("/settings?saved");
  else showNotice("Sent.", "good");
});

const zones = document.getElementById("zones");
for (const zone of (zones && Intl.supportedValuesOf?.("timeZone")) ?? []) {
  zones.append(Object.assign(document.createElement("option"), { value: zone }));
}

const file = document.getElementById("file");
const DELAY = 500; // milliseconds without a key
let waiting = 0;

async function check() {
  const text = file.value;
  const result = await callApi("/config/check", { text });
  if (!result || text !== file.value) return;
  const lines = result.problems.map(({ line, column, message, hint }) => {
    const problem = document.createElement("p");
    problem.textContent = `${line}:${column}: ${message}${hint ? `; ${hint}` : ""}`;
    return problem;
  });
  const box = document.getElementById("problems");
  box.replaceChildren(...lines);
  box.hidden = lines.length === 0;
}

file?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(check, DELAY);
});
