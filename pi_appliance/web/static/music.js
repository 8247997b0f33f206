// The pages of music without reloads: forms, and lists that are drawn again when they change.

import { answerPress, confirmForms, errorIn, NO_ANSWER, showAnswer, showBusy, showNotice, signIn } from "./api.js";
import { isSnoozing } from "./banner.js";
import { followState } from "./events.js";

const byId = (id) => document.getElementById(id);
// Fields of the player that no list shows. Of the track its id is compared.
const NOT_LISTED = ["track", "play", "elapsed", "volume", "bitrate", "audio", "error"];
// The state for which the list was drawn. At first, that of the page: something may have changed since.
const { player: drawnPlayer = null, jobs: drawnJobs = null } = byId("live-part")?.dataset ?? {};
let drawnKey = listKey(JSON.parse(drawnPlayer), JSON.parse(drawnJobs));

confirmForms();
document.addEventListener("submit", submit);
document.addEventListener("toggle", closeOtherMenus, { capture: true });
followState(({ player, jobs }) => {
  const key = listKey(player, jobs);
  if (drawnKey !== key && byId("live-part")) redraw(fetch(location.href), "#live-part");
  drawnKey = key;
  for (const button of document.querySelectorAll("#stations [data-url]")) {
    const on = player && player.play !== "stop" && player.track?.uri === button.dataset.url;
    button.setAttribute("aria-pressed", String(Boolean(on)));
  }
}, "music");

function listKey(player, jobs) {
  if (!player) return player;
  const names = Object.keys(player).filter((name) => !NOT_LISTED.includes(name)).sort();
  return [player.track?.id, ...names.map((name) => player[name]), alarmKey(jobs)].join();
}

// On the page of alarms: which alarms ring or snooze.
function alarmKey(jobs) {
  if (!("jobs" in (byId("live-part")?.dataset ?? {}))) return "";
  const music = jobs.filter((job) => job.kind === "music");
  return music.map((job) => [job.last?.id, job.running, job.running && isSnoozing(job)]).join();
}

// The server answers with a line and the next page. It replaces this one, which stays scrolled as it is.
async function submit(event) {
  const form = event.target;
  if (event.defaultPrevented || form.getAttribute("method") !== "post" || "plain" in form.dataset) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  if (event.submitter?.ariaBusy === "true") return;
  const endBusy = showBusy(event.submitter);
  const action = event.submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  answerPress(event.submitter);
  const result = await request(fetch(action, { method: "POST", body, headers: { Accept: "application/json" } }));
  const { answer, next_page } = (await result?.json()) ?? { answer: "" };
  showAnswer(next_page ? (event.submitter?.dataset.done ?? answer) : "");
  if (next_page && (await redraw(fetch(next_page), "main", form))) showNotice("");
  else endBusy();
}

// The answer to a request, or null after its error was shown.
async function request(sent) {
  const answer = await sent.catch(() => null);
  if (answer?.status === 401 || (answer && new URL(answer.url).pathname === "/sign-in")) signIn();
  else if (answer === null) showNotice(NO_ANSWER);
  else if (answer.ok) return answer;
  else showNotice(errorIn(await answer.text()));
  return null;
}

const typedFields = (root) => [...root.querySelectorAll("input[type=text], input[type=time]")];

// The same for a field and the one in its place after the part was drawn again.
const fieldKey = ({ form, name }) => [form?.getAttribute("action"), form?.elements.job?.value, name].join();

// What somebody has typed, other than in the form that was sent.
function typedTexts(root, sentForm) {
  const fields = typedFields(root).filter((each) => each.form !== sentForm && each.value !== each.defaultValue);
  return new Map(fields.map((each) => [fieldKey(each), each]));
}

function restoreTexts(root, typed, focused) {
  for (const field of typedFields(root)) {
    const old = typed.get(fieldKey(field));
    if (!old) continue;
    field.value = old.value;
    field.closest("details")?.setAttribute("open", "");
    if (old === focused) field.focus({ preventScroll: true });
  }
}

async function redraw(sent, part, sentForm = null) {
  const answer = await request(sent);
  if (!answer) return false;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const open = [...document.querySelectorAll("details[open]")].map((each) => each.id).filter(Boolean);
  const old = document.querySelector(part);
  const typed = old ? typedTexts(old, sentForm) : new Map();
  const focused = document.activeElement;
  old?.replaceWith(document.adoptNode(page.querySelector(part)));
  for (const id of open) byId(id)?.setAttribute("open", "");
  if (old) restoreTexts(document.querySelector(part), typed, focused);
  if (part === "main") {
    document.querySelector("h1").replaceWith(page.querySelector("h1"));
    document.title = page.title;
    if (answer.url !== location.href.split("#")[0]) history.pushState(null, "", answer.url);
  }
  return true;
}

window.addEventListener("popstate", () => location.reload());

function closeOtherMenus({ target }) {
  if (!target.matches("details.menu") || !target.open) return;
  for (const each of document.querySelectorAll("details.menu[open]")) if (each !== target) each.open = false;
}
