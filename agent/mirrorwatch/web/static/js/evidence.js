// What a verdict rests on, as a person reads it.

import { el } from "./dom.js";
import { count, duration, moment } from "./format.js";

// Places in a log are looked up elsewhere: as they are, without separators.
const PLACES = /(^|_)(offset|position|partition|sequence)$/;
const SECONDS = "_seconds";
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;
const PLAIN_NAME = /^[a-z0-9_]+$/;
const NUMBERED = /^([a-z_]+)_\d+$/;
const WELL_READ_SECONDS = 60;

export function makeEvidence(check) {
  // Ten summaries alike would tell nothing to those who hear them.
  return el("details", { class: "evidence" },
    el("summary", {}, "Evidence",
      el("span", { class: "sr-only" }, ` of ${check}`)),
    el("dl"));
}

export function showEvidence(details, evidence, now) {
  const facts = gather(evidence, now);
  details.hidden = facts.length === 0;
  const shown = JSON.stringify(facts);
  const list = details.querySelector("dl");
  if (list.dataset.shown === shown) return;
  list.dataset.shown = shown;
  list.replaceChildren(...facts.flatMap(([name, values]) =>
    [el("dt", {}, name), ...values.map((value) => el("dd", {}, value))]));
}

/** Facts in words; what is numbered (`skip_1`, `skip_2`) under one name. */
function gather(evidence, now) {
  const facts = new Map();
  for (const [name, value] of Object.entries(evidence)) {
    const [, kind] = PLAIN_NAME.test(name) ? NUMBERED.exec(name) ?? [] : [];
    const label = term(kind ?? name, value);
    const told = words(name, value, now);
    if (kind !== undefined && facts.has(label)) facts.get(label).push(told);
    else facts.set(label, [told]);
  }
  return [...facts];
}

/** A name of ours in words; one of a connector stays as it is. */
function term(name, value) {
  if (!PLAIN_NAME.test(name)) return name;
  const isTold = name.endsWith(SECONDS) && typeof value !== "string";
  return (isTold ? name.slice(0, -SECONDS.length) : name).replaceAll("_", " ");
}

function words(name, value, now) {
  // Nothing there to be told, or nobody could tell.
  if (value === null) return "unknown";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return text(value, now);
  if (PLACES.test(name)) return String(value);
  return name.endsWith(SECONDS) ? seconds(value) : count(value);
}

function text(value, now) {
  const date = TIME.test(value) ? new Date(value) : null;
  return date === null || Number.isNaN(date.getTime())
    ? value : moment(date, now);
}

function seconds(value) {
  const told = duration(value);
  return Math.abs(value) < WELL_READ_SECONDS
    ? told : `${told} (${count(value)} s)`;
}
