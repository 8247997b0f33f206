// The music card: shows what the player does, lets the time run, and sends what the sliders say.

import { clock } from "./words.js";
import { send } from "./send.js";

const at = (id) => document.getElementById(id);
let heard = null; // what the last event said
let playing = null; // the state in it, with the moment it was heard
let held = false; // a finger is on a slider

export function showMusic(music) {
  heard = music;
  const { player } = music;
  note(at("trouble"), music.error);
  at("player").hidden = !player;
  playing = player && { ...player, heard: performance.now() };
  if (!player) return;
  const { track } = player;
  at("title").textContent = track ? track.label : "Nothing is playing";
  at("artist").textContent = track ? [track.artist, track.album].filter(Boolean).join(" · ") : "";
  showCover(track, music.capabilities);
  note(at("player-note"), music.status_text);
  note(at("player-error"), player.error);
  const pressed = player.play === "play";
  at("toggle").setAttribute("aria-label", pressed ? "Pause" : "Play");
  at("toggle").querySelector("use").setAttribute("href", pressed ? "#i-pause" : "#i-play");
  at("volume").hidden = player.volume === null;
  if (!held && player.volume !== null) fill(at("volume-line"), player.volume);
  for (const station of document.querySelectorAll("#stations button")) {
    const on = player.play !== "stop" && track?.uri === station.dataset.url;
    station.setAttribute("aria-pressed", String(on));
  }
  showTime();
}

export function startClock() {
  at("cover").addEventListener("error", () => (at("cover").hidden = true));
  at("cover").addEventListener("load", () => (at("cover").hidden = false));
  for (const line of document.querySelectorAll("input[type=range]")) {
    fill(line, line.value);
    line.addEventListener("input", () => {
      held = true;
      fill(line, line.value);
      if (line.name === "seconds") at("elapsed").textContent = clock(line.value);
    });
    line.addEventListener("change", async () => {
      const done = await send(line.form.getAttribute("action"), { [line.name]: Number(line.value) });
      held = false;
      if (!done && heard) showMusic(heard); // the slider goes back
    });
  }
  setInterval(() => document.visibilityState === "visible" && showTime(), 500);
}

function showCover(track, abilities) {
  const cover = at("cover");
  const uri = abilities.includes("art") && track ? track.uri : "";
  if (cover.dataset.uri === uri) return;
  cover.dataset.uri = uri;
  cover.hidden = !uri;
  if (uri) cover.src = `/music/cover?uri=${encodeURIComponent(uri)}`;
}

function showTime() {
  if (!playing) return;
  const duration = playing.track?.duration;
  at("seek").hidden = !duration;
  at("duration").textContent = duration ? clock(duration) : "";
  if (held) return;
  if (playing.elapsed === null || !playing.track) {
    at("elapsed").textContent = "";
    return;
  }
  const since = playing.play === "play" ? (performance.now() - playing.heard) / 1000 : 0;
  const elapsed = Math.min(playing.elapsed + since, duration || Infinity);
  at("elapsed").textContent = clock(elapsed);
  if (duration) {
    at("elapsed-line").max = Math.ceil(duration);
    fill(at("elapsed-line"), elapsed);
  }
}

function fill(line, value) {
  line.value = value;
  line.style.setProperty("--filled", `${(100 * line.value) / line.max}%`);
}

function note(place, sentence) {
  place.hidden = !sentence;
  place.textContent = sentence;
}
