// Tweets: forms, and the length of a text on each network as one types.

import { callApi, confirmForms, sendFormsToApi, showNotice } from "./api.js";

const DELAY = 300; // milliseconds without a key

confirmForms();
sendFormsToApi((path) => {
  if (path === "/tweets/post") showNotice("The post starts. All posts are at the end of this page.", "good");
  else location.reload();
});

async function count(form) {
  const field = form.elements.text;
  const text = field.value.trim();
  const place = form.querySelector("[data-count]");
  if (!text || text.includes("\n")) {
    place.textContent = text ? "A line has no line break." : "";
    return;
  }
  const job = document.querySelector("[name=job]").value;
  const result = await callApi("/tweets/check", { text, job });
  if (!result || text !== field.value.trim()) return;
  const lengths = result.networks.map(({ network, length, max_length: max }) => `${network} ${length} of ${max}`);
  const cost = Number(result.cost) ? [`$${Number(result.cost).toFixed(3)}`] : [];
  const problems = result.problems.map(({ message }) => message);
  place.textContent = [...lengths, ...cost, ...problems].join(" · ");
  place.classList.toggle("bad", !result.good);
}

let waiting = 0;
document.addEventListener("input", ({ target }) => {
  const form = target.closest("form.checked");
  if (!form) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => count(form), DELAY);
});

// A link to a line opens its menu.
function openTarget() {
  const menu = document.querySelector(":target > :is(.menu, .edit)");
  if (menu) menu.open = true;
}
window.addEventListener("hashchange", openTarget);
openTarget();
