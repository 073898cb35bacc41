// The five healths: their order, their words and their signs.

import { el, svg } from "./dom.js";

const ORDER = ["off", "ok", "unknown", "warning", "critical"];

export const severity = (health) => ORDER.indexOf(health);

/** The worst of several, "unknown" if there is none. */
export function worst(healths) {
  return [...healths].sort((a, b) => severity(b) - severity(a))[0] ?? "unknown";
}

export function icon(health) {
  return svg("svg", { class: "icon", "aria-hidden": "true" },
    svg("use", { href: `#icon-${health}` }));
}

/** Sign, word and colour: none of them alone. */
export function badge(health) {
  return el("span", { class: "badge", "data-health": health },
    icon(health), el("span", {}, health));
}

/** Puts a badge in a place unless the same is there. */
export function showBadge(place, health) {
  if (place.firstElementChild?.dataset.health !== health) {
    place.replaceChildren(badge(health));
  }
}
