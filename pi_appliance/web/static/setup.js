// The set-up: proposes the time zone of the phone, unless one was chosen before.

const zone = document.querySelector("#zone[data-propose]");
if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || zone.value;
