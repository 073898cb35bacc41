// A part of a flow's card that is one line until somebody opens it.

import { el, setText } from "./dom.js";
import { age } from "./format.js";
import { severity, showBadge, worst } from "./health.js";

export class Part {
  constructor(card, name, title) {
    this.state = el("span", { class: "part-state" });
    this.badge = el("span", { class: "part-health" });
    this.body = el("div", { class: "part-body" });
    this.element = el("details",
      { class: "part", id: `${card.id}-${name}`, "data-part": name },
      el("summary", {}, el("h3", {}, title), this.badge, this.state),
      this.body);
  }

  get isOpen() {
    return this.element.open;
  }

  /** Shows how it is: `words` in one line, and the sign of its verdicts. */
  tell(words, verdicts) {
    const health = worst(verdicts.map((verdict) => verdict.health));
    this.badge.hidden = verdicts.length === 0 || health === "ok";
    if (!this.badge.hidden) showBadge(this.badge, health);
    this.element.classList.toggle("bad", severity(health) > severity("ok"));
    setText(this.state, words);
  }
}

/** A heading that is there only with what it stands above. */
export function titled(title, ...parts) {
  return el("div", { class: "titled" }, el("h4", {}, title), ...parts);
}

/** Shows a block of a part only if it has something to say. */
export function showBlock(block, isShown) {
  block.hidden = !isShown;
}

/** "as of 3 min ago", once facts are older than a few ticks. */
export function asOf(observedAt, now, staleAfter) {
  const seconds = (now - new Date(observedAt)) / 1000;
  return seconds > staleAfter ? `as of ${age(seconds)} ago` : "";
}

/** "and 1,072 more" for what a cut list leaves out. */
export function more(total, listed) {
  return total > listed.length
    ? `and ${(total - listed.length).toLocaleString("en-GB")} more` : "";
}
