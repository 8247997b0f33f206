// The set-up: proposes the time zone of the phone, unless one was chosen before. A refusal is shown without leaving
// the page, so that the way back never leads to a form that was sent.

import { sendBusyForms } from "./api.js";

sendBusyForms();
const zone = document.querySelector("#zone[data-propose]");
if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || zone.value;
