// The verdicts of a flow, the worst first, each with what it rests on.

import { el, setText } from "./dom.js";
import { count, since } from "./format.js";
import { severity, showBadge } from "./health.js";

export class Checks {
  constructor(card) {
    this.list = card.querySelector(".checks");
    this.fold = card.querySelector(".off-fold");
    this.offList = card.querySelector(".checks.off");
    this.rows = new Map();
  }

  show(verdicts, now) {
    const sorted = [...verdicts].sort(
      (a, b) => severity(b.health) - severity(a.health));
    const names = new Set(sorted.map((verdict) => verdict.check));
    for (const [check, row] of this.rows) {
      if (names.has(check)) continue;
      row.remove();
      this.rows.delete(check);
    }
    const on = sorted.filter((verdict) => verdict.health !== "off");
    const off = sorted.filter((verdict) => verdict.health === "off");
    this.place(this.list, on, now);
    this.place(this.offList, off, now);
    this.fold.hidden = off.length === 0;
    setText(this.fold.querySelector("summary"),
      off.length === 1 ? "1 check is off" : `${off.length} checks are off`);
  }

  /** Rows stay the same elements, so an open one stays open. */
  place(list, verdicts, now) {
    verdicts.forEach((verdict, at) => {
      const row = this.rows.get(verdict.check) ?? this.make(verdict.check);
      update(row, verdict, now);
      if (list.children[at] !== row) {
        list.insertBefore(row, list.children[at] ?? null);
      }
    });
  }

  make(check) {
    const row = el("li", { class: "check", "data-check": check },
      el("div", { class: "check-health" }),
      el("strong", { class: "check-name" }),
      el("div", { class: "check-words" },
        el("p", { class: "check-reason" }),
        el("details", { class: "evidence" },
          el("summary", {}, "Evidence"), el("dl"))),
      el("span", { class: "check-since" }));
    this.rows.set(check, row);
    return row;
  }
}

function update(row, verdict, now) {
  row.dataset.health = verdict.health;
  showBadge(row.querySelector(".check-health"), verdict.health);
  setText(row.querySelector(".check-name"), verdict.check);
  setText(row.querySelector(".check-reason"), verdict.reason);
  const time = row.querySelector(".check-since");
  setText(time, since(verdict.since, now));
  time.title = new Date(verdict.since).toString();
  showEvidence(row.querySelector(".evidence"), verdict.evidence);
}

function showEvidence(details, evidence) {
  const facts = Object.entries(evidence);
  details.hidden = facts.length === 0;
  const lines = facts.map(([name, value]) => `${name}\n${words(value)}`);
  const list = details.querySelector("dl");
  if (list.dataset.shown === lines.join("\n")) return;
  list.dataset.shown = lines.join("\n");
  list.replaceChildren(...facts.flatMap(([name, value]) => {
    const term = el("dt");
    const fact = el("dd");
    term.textContent = name.replaceAll("_", " ");
    fact.textContent = words(value);
    return [term, fact];
  }));
}

function words(value) {
  if (value === null) return "not known";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? count(value) : value;
}
