// The machine: the doctor without a reload of the page, and the wait for a restart.

import { confirmForms, fetchPart, NO_ANSWER } from "./api.js";
import { followState } from "./events.js";

const FIRST_DELAY = 1000; // milliseconds between two questions; each is half as long again
const MAX_DELAY = 5000;
const LATE = 60_000; // milliseconds after which the page says that it takes long

const waiting = document.getElementById("waiting");
const doctor = document.getElementById("doctor");
if (waiting) {
  setTimeout(() => (document.getElementById("late").hidden = false), LATE);
  setTimeout(ask, FIRST_DELAY, FIRST_DELAY);
} else {
  confirmForms();
  followState();
}

// A daemon with another time of its start is the new one. Signed out is also an answer: the page then asks for that.
async function ask(delay) {
  const answer = await fetch("/api/v1/status", { signal: AbortSignal.timeout(MAX_DELAY) }).catch(() => null);
  const status = answer?.ok ? await answer.json().catch(() => null) : null;
  const isBack = answer?.status === 401 || (status && status.started_at !== waiting.dataset.started);
  if (isBack) location.replace(waiting.dataset.then);
  else setTimeout(ask, delay, Math.min(delay * 1.5, MAX_DELAY));
}

// While an update runs or a Wi-Fi is joined, the progress is loaded again, also if the appliance does not answer meanwhile.
const going = document.querySelector("#update, #wifi");
if (going?.querySelector("[data-running]")) setTimeout(showProgress, FIRST_DELAY);

async function showProgress() {
  const part = await fetchPart(`/parts/${going.id}`).catch(() => null);
  if (part !== null) going.innerHTML = part;
  if (part === null || going.querySelector("[data-running]")) setTimeout(showProgress, FIRST_DELAY);
  else if (going.id === "wifi") location.reload();
}

const preparing = document.getElementById("preparing");
document.getElementById("download")?.addEventListener("click", () => {
  preparing.textContent = "Preparing … the download starts by itself.";
  setTimeout(() => (preparing.textContent = ""), 15_000);
});
document.getElementById("upload")?.addEventListener("submit", (event) => {
  event.submitter.disabled = true;
  event.target.querySelector("[role=status]").textContent = "Uploading and checking …";
});

document.getElementById("doctor-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  doctor.innerHTML = '<p class="card">Checking … this takes up to a minute.</p>';
  doctor.scrollIntoView({ block: "nearest" });
  const part = await fetchPart("/parts/doctor");
  if (part === null) doctor.firstChild.textContent = NO_ANSWER;
  else doctor.innerHTML = part;
  button.disabled = false;
});
