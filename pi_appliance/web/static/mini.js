// The mini player of the pages without the player itself.

import { apiPath, callApi } from "./api.js";

const byId = (id) => document.getElementById(id);

// Its buttons need no reload, whatever the page does with its own forms.
byId("mini")?.addEventListener("submit", (event) => {
  event.preventDefault();
  callApi(apiPath(event.submitter.getAttribute("formaction")));
});
// A track without a cover is answered with nothing, and then nothing may move under a finger: a cover takes room once
// it is loaded. One may come before or after this script.
const isCover = (image) => image.matches?.(".cover");
document.addEventListener("error", ({ target }) => isCover(target) && (target.hidden = true), { capture: true });
document.addEventListener("load", ({ target }) => isCover(target) && (target.hidden = target.dataset.uri === ""), { capture: true });
for (const image of document.images) if (isCover(image) && image.complete) image.hidden = !image.naturalWidth;

export function showMiniPlayer({ player, capabilities }) {
  if (!byId("mini")) return;
  byId("mini").hidden = !player;
  if (!player) return;
  const { track } = player;
  byId("mini-title").textContent = track ? track.label : "Nothing is playing";
  byId("mini-artist").textContent = track ? [track.artist, track.album].filter(Boolean).join(" · ") : "";
  if (byId("mini-toggle")) showToggle(byId("mini-toggle"), player.play === "play");
  showCover(byId("mini-cover"), track, capabilities);
}

export function showToggle(button, isPlaying) {
  button.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
  button.querySelector("use").setAttribute("href", isPlaying ? "#i-pause" : "#i-play");
}

export function showCover(image, track, capabilities) {
  const uri = capabilities.includes("art") && track ? track.uri : "";
  if ((image.dataset.uri ?? "") === uri) return;
  image.dataset.uri = uri;
  if (!uri || !isCover(image)) image.hidden = !uri;
  const size = image.closest(".thumb") ? "small=1&" : "";
  if (uri) image.src = `/music/cover?${size}uri=${encodeURIComponent(uri)}`;
}
