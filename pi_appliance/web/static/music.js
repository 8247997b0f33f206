// The pages of music without reloads: forms, and lists that are drawn again when they change.

import { confirmForms, NO_ANSWER, showBusy, showNotice, signIn } from "./api.js";
import { isSnoozing } from "./banner.js";
import { followState } from "./events.js";

const byId = (id) => document.getElementById(id);
const ADDED_TIME = 2500; // milliseconds
let addedTimer = 0;
let drawnKey = null; // the state for which the list on the page was drawn

confirmForms();
document.addEventListener("submit", submit);
document.addEventListener("toggle", closeOtherMenus, { capture: true });
followState(({ player, jobs }) => {
  const key = player && [player.queue_version, player.track?.id, player.updating, player.single, player.consume,
    player.repeat, player.random, player.crossfade, player.replay_gain, player.muted, alarmKey(jobs)].join();
  if (drawnKey !== null && drawnKey !== key && byId("live-part")) redraw(fetch(location.href), "#live-part");
  drawnKey = key;
  for (const button of document.querySelectorAll("#stations [data-url]")) {
    const on = player && player.play !== "stop" && player.track?.uri === button.dataset.url;
    button.setAttribute("aria-pressed", String(Boolean(on)));
  }
});

// On the page of alarms: which alarms ring or snooze.
function alarmKey(jobs) {
  if (!("jobs" in (byId("live-part")?.dataset ?? {}))) return "";
  const music = jobs.filter((job) => job.kind === "music");
  return music.map((job) => [job.last?.id, job.running, job.running && isSnoozing(job)]).join();
}

// The server answers with the next page. It replaces this one, which stays scrolled as it is.
async function submit(event) {
  const form = event.target;
  if (event.defaultPrevented || form.getAttribute("method") !== "post" || "plain" in form.dataset) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  if (event.submitter?.ariaBusy === "true") return;
  const endBusy = showBusy(event.submitter);
  const action = event.submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  if (!(await redraw(fetch(action, { method: "POST", body }), "main"))) return endBusy();
  if (!/^\/do\/player\/queue\/add(?!.*play=true)/.test(action)) return showNotice("");
  showNotice("Added to the queue.", "added");
  clearTimeout(addedTimer);
  addedTimer = setTimeout(() => showNotice(""), ADDED_TIME);
}

async function redraw(request, part) {
  const answer = await request.catch(() => null);
  if (answer === null) return showNotice(NO_ANSWER);
  if (answer.status === 401 || new URL(answer.url).pathname === "/sign-in") return signIn();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok) return showNotice(page.querySelector("main")?.textContent.trim() || page.body.textContent);
  const open = [...document.querySelectorAll("details[open]")].map((each) => each.id).filter(Boolean);
  document.querySelector(part)?.replaceWith(document.adoptNode(page.querySelector(part)));
  for (const id of open) byId(id)?.setAttribute("open", "");
  if (part === "main") {
    document.querySelector("h1").replaceWith(page.querySelector("h1"));
    document.title = page.title;
    if (answer.redirected && answer.url !== location.href) history.pushState(null, "", answer.url);
  }
  return true;
}

window.addEventListener("popstate", () => location.reload());

function closeOtherMenus({ target }) {
  if (!target.matches("details.menu") || !target.open) return;
  for (const each of document.querySelectorAll("details.menu[open]")) if (each !== target) each.open = false;
}
