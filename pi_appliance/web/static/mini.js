// The mini player of the pages without the player itself.

import { apiPath, callApi } from "./api.js";

const byId = (id) => document.getElementById(id);

// Its buttons need no reload, whatever the page does with its own forms.
byId("mini")?.addEventListener("submit", (event) => {
  event.preventDefault();
  callApi(apiPath(event.submitter.getAttribute("formaction")));
});
byId("mini-cover")?.addEventListener("error", ({ target }) => (target.hidden = true));

export function showMiniPlayer({ player, capabilities }) {
  if (!byId("mini")) return;
  byId("mini").hidden = !player;
  if (!player) return;
  const { track } = player;
  byId("mini-title").textContent = track ? track.label : "Nothing is playing";
  byId("mini-artist").textContent = track ? [track.artist, track.album].filter(Boolean).join(" · ") : "";
  showToggle(byId("mini-toggle"), player.play === "play");
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
  image.hidden = !uri;
  if (uri) image.src = `/music/cover?uri=${encodeURIComponent(uri)}`;
}
