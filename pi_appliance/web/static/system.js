// The machine: the doctor without a reload of the page.

import { confirmForms, fetchPart, NO_ANSWER } from "./api.js";
import { followState } from "./events.js";

confirmForms();
followState();

const doctor = document.getElementById("doctor");
document.getElementById("doctor-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  doctor.innerHTML = '<p class="card going">Checking … this takes up to a minute.</p>';
  const part = await fetchPart("/parts/doctor");
  doctor.scrollIntoView({ block: "nearest" });
  if (part === null) doctor.firstChild.textContent = NO_ANSWER;
  else doctor.innerHTML = part;
  button.disabled = false;
});
