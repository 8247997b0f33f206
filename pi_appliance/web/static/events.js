// The connection to the appliance: calls back with each new state, shows when it is lost, and connects again.

import { hideNoAnswer, signIn } from "./api.js";
import { showMiniPlayer } from "./mini.js";

const MAX_SILENCE = 40_000; // milliseconds; the appliance sends something every 15 seconds
const RETRY_DELAY = 2000; // milliseconds

// `page` says which jobs the state has: those of home_pages.py, and those called `names`. Fewer are faster.
export function followState(onState = () => {}, page = "none", names = []) {
  const lost = document.getElementById("live");
  let source = null;
  let timer = null;

  const onEvent = () => {
    lost.hidden = true;
    hideNoAnswer();
    clearTimeout(timer);
    timer = setTimeout(onLoss, MAX_SILENCE);
  };

  function open() {
    close();
    source = new EventSource(`/events?${new URLSearchParams([["page", page], ...names.map((name) => ["job", name])])}`);
    source.onopen = onEvent;
    source.onerror = onLoss;
    source.addEventListener("ping", onEvent);
    source.addEventListener("state", (event) => {
      onEvent();
      const state = JSON.parse(event.data);
      showMiniPlayer(state);
      onState(state);
    });
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  function onLoss() {
    lost.hidden = false;
    close();
    timer = setTimeout(retry, RETRY_DELAY);
  }

  async function retry() {
    // A phone that is signed out gets 401 here. An EventSource could not tell it from a lost connection.
    const answer = await fetch("/api/v1/player").catch(() => null);
    if (answer?.status === 401) signIn();
    else if (document.visibilityState === "visible") answer?.ok ? open() : onLoss();
  }

  // A hidden page must not cost the phone or the appliance anything.
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? open() : close()));
  window.addEventListener("online", open);
  window.addEventListener("offline", onLoss);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => event.persisted && open());
  open();
}
