// The card of the player: shows its state, advances the time, and sends the values of the sliders.

import { apiPath, callApi, fetchPart } from "./api.js";
import { showCover, showToggle } from "./mini.js";
import { showSentence } from "./sentences.js";
import { trackTime } from "./time.js";

const byId = (id) => document.getElementById(id);
let newest = null; // the last event
let playing = null; // the player in it, with the moment of the event
let isSliding = false; // a finger is on a slider
let queueKey = byId("queue")?.dataset.drawn; // the state for which the queue was drawn; at first, that of the page

export function showMusic(music) {
  newest = music;
  const { player } = music;
  showText(byId("player-problem"), music.error);
  byId("player").hidden = !player;
  if (byId("player-help")) byId("player-help").hidden = Boolean(player);
  playing = player && { ...player, receivedAt: performance.now() };
  if (!player) return;
  const { track } = player;
  byId("title").textContent = track ? track.label : "Nothing is playing";
  byId("artist").textContent = track ? [track.artist, track.album].filter(Boolean).join(" · ") : "";
  showCover(byId("cover"), track, music.capabilities);
  showQueue(player);
  showText(byId("player-note"), music.status_text);
  showText(byId("player-error"), music.status_text.includes(player.error) ? "" : player.error);
  if (byId("transport")) showControls(player); // a guest has none
  for (const station of document.querySelectorAll("#stations button")) {
    const on = player.play !== "stop" && track?.uri === station.dataset.url;
    station.setAttribute("aria-pressed", String(on));
  }
  showTime();
}

function showControls({ play, volume }) {
  showToggle(byId("toggle"), play === "play");
  byId("volume").hidden = volume === null;
  if (isSliding || volume === null) return;
  setSlider(byId("volume-line"), volume);
  showVolume(volume);
}

export function startPlayer() {
  for (const slider of document.querySelectorAll("input[type=range]")) {
    setSlider(slider, slider.value);
    slider.addEventListener("input", () => {
      isSliding = true;
      setSlider(slider, slider.value);
      if (slider.name === "seconds") byId("elapsed").textContent = trackTime(slider.value);
      else showVolume(slider.value);
    });
    slider.addEventListener("change", async () => {
      const path = apiPath(slider.form.getAttribute("action"));
      const before = newest;
      const result = await callApi(path, { [slider.name]: Number(slider.value) });
      isSliding = false;
      // Without an event since then, the answer is newest: it may be that nothing has changed.
      if (newest) showMusic(newest === before ? { ...newest, ...result } : newest);
    });
  }
  setInterval(() => document.visibilityState === "visible" && showTime(), 500);
}

function showVolume(volume) {
  const limit = newest?.max_volume ?? Number(byId("limit").dataset.max);
  byId("limit").toggleAttribute("hidden", limit >= 100);
  byId("limit").firstElementChild.setAttribute("x", `${limit}%`);
  byId("volume-text").textContent = limit < 100 ? `${volume} of ${limit}` : volume;
}

async function showQueue({ queue_version, track }) {
  const key = [queue_version, track?.id].join();
  if (queueKey === key || !byId("queue")) return;
  queueKey = key;
  const part = await fetchPart(byId("queue").dataset.part);
  if (part !== null) byId("queue").innerHTML = part;
}

function showTime() {
  if (!playing) return;
  const duration = playing.track?.duration;
  byId("seek")?.toggleAttribute("hidden", !duration);
  byId("duration").textContent = duration ? trackTime(duration) : "";
  if (isSliding) return;
  if (playing.elapsed === null || !playing.track) {
    byId("elapsed").textContent = "";
    return;
  }
  const since = playing.play === "play" ? (performance.now() - playing.receivedAt) / 1000 : 0;
  const elapsed = Math.min(playing.elapsed + since, duration || Infinity);
  byId("elapsed").textContent = trackTime(elapsed);
  if (duration && byId("seek")) {
    byId("elapsed-line").max = Math.ceil(duration);
    setSlider(byId("elapsed-line"), elapsed);
  }
}

function setSlider(slider, value) {
  slider.value = value;
  slider.style.setProperty("--filled", `${(100 * slider.value) / slider.max}%`);
}

function showText(element, sentence) {
  element.hidden = !sentence;
  showSentence(element, sentence);
}
