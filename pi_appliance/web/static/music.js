// The pages of the music, made live: forms without a reload, the bar at the bottom, lists drawn anew when they changed.

import { follow } from "./live.js";
import { askFirst, say, signIn } from "./send.js";

const at = (id) => document.getElementById(id);
let drawn = null; // what the list on the page was drawn for

askFirst();
document.addEventListener("submit", take);
document.addEventListener("toggle", closeOthers, { capture: true });
follow(({ player, jobs }) => {
  showBar(player);
  const now = player && [player.queue_version, player.track?.id, player.updating, player.single, player.consume,
    player.repeat, player.random, player.crossfade, player.replay_gain, player.muted, rung(jobs)].join();
  if (drawn !== null && drawn !== now && at("live-part")) redraw(fetch(location.href), "#live-part");
  drawn = now;
  for (const button of document.querySelectorAll("#stations [data-url]")) {
    const on = player && player.play !== "stop" && player.track?.uri === button.dataset.url;
    button.setAttribute("aria-pressed", String(Boolean(on)));
  }
});

// On the page of alarms: which of them ring, and which snooze.
function rung(jobs) {
  if (!("jobs" in (at("live-part")?.dataset ?? {}))) return "";
  const music = jobs.filter((job) => job.kind === "music");
  return music.map(({ last, running }) => [last?.id, running, running && /^snoozing/.test(last.status_text)]).join();
}

// The server answers with the page that follows, which takes the place of this one; how far it was scrolled stays.
async function take(event) {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || "plain" in form.dataset) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  const action = event.submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  const told = form.dataset.told ?? event.submitter?.dataset.told;
  if (await redraw(fetch(action, { method: "POST", body: fields }), "main")) say(told ?? "", "good");
}

async function redraw(asked, part) {
  const answer = await asked.catch(() => null);
  if (answer === null) return say("The appliance does not answer. Is this phone in its network?");
  if (answer.status === 401 || new URL(answer.url).pathname === "/sign-in") return signIn();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok) return say(page.querySelector("main")?.textContent.trim() || page.body.textContent);
  const open = [...document.querySelectorAll("details[open]")].map((each) => each.id).filter(Boolean);
  document.querySelector(part)?.replaceWith(document.adoptNode(page.querySelector(part)));
  for (const id of open) at(id)?.setAttribute("open", "");
  if (part === "main") {
    document.querySelector("h1").replaceWith(page.querySelector("h1"));
    document.title = page.title;
    if (answer.redirected && answer.url !== location.href) history.pushState(null, "", answer.url);
  }
  return true;
}

window.addEventListener("popstate", () => location.reload());

// One menu at a time.
function closeOthers({ target }) {
  if (!target.matches("details.menu") || !target.open) return;
  for (const each of document.querySelectorAll("details.menu[open]")) if (each !== target) each.open = false;
}

function showBar(player) {
  if (!at("bar")) return;
  at("bar").hidden = !player;
  if (!player) return;
  const { track } = player;
  at("bar-title").textContent = track ? track.label : "Nothing is playing";
  at("bar-artist").textContent = track ? [track.artist, track.album].filter(Boolean).join(" · ") : "";
  const playing = player.play === "play";
  at("bar-toggle").setAttribute("aria-label", playing ? "Pause" : "Play");
  at("bar-toggle").querySelector("use").setAttribute("href", playing ? "#i-pause" : "#i-play");
}
