// Alerts a person who looks elsewhere: a sound, and a notification where the browser allows it.

import { asks } from "/static/bar/open_requests.js";
import { approvalText } from "./approval.js";
import { isApproval } from "./handoff.js";
import { plainLine } from "./plain_text.js";

const MAX_BODY = 300;

/** @param {import("./handoff.js").Handoff} handoff */
export function alertPerson(handoff) {
  const { id, kind, reason } = handoff;
  if (globalThis.Notification?.permission === "granted" && document.hidden) {
    const body = plainLine(isApproval(handoff) ? approvalText(handoff) : reason, MAX_BODY);
    new Notification(asks(kind), { body, icon: "/static/home/icon.svg", tag: id }); // one for all pages that are open
  }
  if (navigator.userActivation && !navigator.userActivation.hasBeenActive) return; // the browser would play nothing yet
  try {
    const sound = new AudioContext();
    const tone = new OscillatorNode(sound, { frequency: 660 });
    tone.connect(new GainNode(sound, { gain: 0.05 })).connect(sound.destination);
    tone.start();
    tone.stop(sound.currentTime + 0.25);
    tone.onended = () => sound.close();
  } catch {
    return; // the browser plays no sound here; the card is shown anyway
  }
}
