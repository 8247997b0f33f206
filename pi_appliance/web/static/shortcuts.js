// Keys for the player, the list of them, and the switch for this device.

import { callApi, showAnswer } from "./api.js";

const OFF = "shortcuts-off"; // in the storage of this browser
const SHORTCUTS = [
  { keys: [" ", "k"], shown: "Space", effect: "Play or pause", path: "/player/toggle" },
  { keys: ["ArrowLeft"], shown: "←", effect: "10 seconds back", path: "/player/seek", values: { seconds: "-10" } },
  { keys: ["ArrowRight"], shown: "→", effect: "10 seconds forward", path: "/player/seek", values: { seconds: "+10" } },
  { keys: ["Shift+ArrowLeft"], shown: "Shift ←", effect: "Previous track", path: "/player/previous" },
  { keys: ["Shift+ArrowRight"], shown: "Shift →", effect: "Next track", path: "/player/next" },
  { keys: ["+", "="], shown: "+", effect: "Louder", path: "/player/volume", values: { volume: "+5" } },
  { keys: ["-"], shown: "−", effect: "Quieter", path: "/player/volume", values: { volume: "-5" } },
];
const TYPING = "input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const CONTROLS = "a, button, input, summary, textarea, select, [contenteditable]";
const STATES = { play: "Playing", pause: "Paused", stop: "Stopped" };

addEventListener("keydown", press);
document.addEventListener("click", ({ target }) => target.closest("[data-shortcuts]") && showList());

function press(event) {
  const { key, target } = event;
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey || isOff()) return;
  // Space and the arrows belong to the control that has the focus, the other keys to a text field only.
  const isCharacter = key.length === 1 && key !== " ";
  if (document.querySelector("dialog[open]") || target.closest?.(isCharacter ? TYPING : CONTROLS)) return;
  const name = event.shiftKey && !isCharacter ? `Shift+${key}` : key;
  const shortcut = SHORTCUTS.find(({ keys }) => keys.includes(name));
  if (!shortcut && key !== "?") return;
  event.preventDefault();
  if (key === "?") showList();
  else if (!event.repeat || shortcut.values) send(shortcut);
}

async function send({ path, values }) {
  const player = (await callApi(path, values))?.player;
  if (!player) return;
  if (path === "/player/toggle") showAnswer(STATES[player.play]);
  else if (path === "/player/volume") showAnswer(`Volume ${player.volume}`);
  else if (!values && player.track) showAnswer(player.track.label);
}

function showList() {
  const dialog = document.createElement("dialog");
  dialog.className = "card shortcuts";
  dialog.setAttribute("aria-labelledby", "shortcuts-title");
  const rows = [...SHORTCUTS, { shown: "?", effect: "This list" }];
  dialog.innerHTML = `<h2 class="inner" id="shortcuts-title">Keyboard shortcuts</h2>
    <dl>${rows.map(({ shown, effect }) => `<dt><kbd>${shown}</kbd></dt><dd>${effect}</dd>`).join("")}</dl>
    <label class="row">On this device <input type="checkbox" role="switch"></label>
    <form method="dialog"><button class="main wide">Close</button></form>`;
  const on = dialog.querySelector("input");
  on.checked = !isOff();
  on.addEventListener("change", () => (on.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "yes")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function isOff() {
  return localStorage.getItem(OFF) !== null;
}
