// The line to the appliance: calls back with each new state, says when it is lost, and comes back by itself.

import { answersAgain, signIn } from "./send.js";

const SILENCE = 40_000; // milliseconds; the appliance says something every 15 seconds

export function follow(onState) {
  const lost = document.getElementById("live");
  let source = null;
  let timer = null;

  const heard = () => {
    lost.hidden = true;
    answersAgain();
    clearTimeout(timer);
    timer = setTimeout(gone, SILENCE);
  };

  function open() {
    close();
    source = new EventSource("/events");
    source.onopen = heard;
    source.onerror = gone;
    source.addEventListener("ping", heard);
    source.addEventListener("state", (event) => {
      heard();
      onState(JSON.parse(event.data));
    });
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  function gone() {
    lost.hidden = false;
    close();
    timer = setTimeout(again, 2000);
  }

  async function again() {
    // A signed-out phone gets 401 here, which an EventSource could not tell from a lost line.
    const answer = await fetch("/api/v1/player").catch(() => null);
    if (answer?.status === 401) signIn();
    else if (document.visibilityState === "visible") answer?.ok ? open() : gone();
  }

  // A page that nobody sees costs the phone and the appliance nothing.
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? open() : close()));
  window.addEventListener("online", open);
  window.addEventListener("offline", gone);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => event.persisted && open());
  open();
}
