// The verdicts of a flow, the worst first, each with what it rests on. What
// is fine, or off, is one quiet line until somebody opens it.

import { el, setText } from "./dom.js";
import { makeEvidence, showEvidence } from "./evidence.js";
import { since } from "./format.js";
import { severity, showBadge } from "./health.js";
import { PART_OF } from "./parts.js";

const FINDINGS_SHOWN = 20;
const REPORT = /^\/audit\/[\w.-]+$/;

export class Checks {
  constructor(card) {
    this.card = card;
    this.list = card.querySelector(".checks");
    this.fold = card.querySelector(".quiet-fold");
    this.quietList = card.querySelector(".checks.quiet");
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
    const shown = sorted.filter((verdict) => this.isShown(verdict));
    const quiet = sorted.filter((verdict) => !this.isShown(verdict));
    this.place(this.list, shown, now);
    this.place(this.quietList, quiet, now);
    this.list.hidden = shown.length === 0;
    this.fold.hidden = quiet.length === 0;
    setText(this.fold.querySelector("summary"),
      quietWords(quiet, shown.length === 0));
  }

  /** What heals while somebody reads its evidence does not slip away. */
  isShown(verdict) {
    if (severity(verdict.health) > severity("ok")) return true;
    const row = this.rows.get(verdict.check);
    return row !== undefined && row.parentElement === this.list
      && row.querySelector(".evidence").open;
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
        el("ul", { class: "check-findings", hidden: "" }),
        el("div", { class: "check-more" },
          el("a", { class: "check-help" }, "What to do",
            el("span", { class: "sr-only" }, ` about ${check}`)),
          ...this.wayTo(check),
          el("a", { class: "check-report", hidden: "" }, "Full report"),
          makeEvidence(check))),
      el("span", { class: "check-since" }));
    this.rows.set(check, row);
    return row;
  }

  /** A link to the part of the card that lists the check's facts. */
  wayTo(check) {
    const part = PART_OF[check];
    if (part === undefined) return [];
    const id = `${this.card.id}-${part}`;
    const link = el("a", { class: "check-part", href: `#${id}` }, `See ${part}`);
    link.addEventListener("click", (event) => {
      const place = document.getElementById(id);
      if (place === null) return;
      event.preventDefault();
      if (place instanceof HTMLDetailsElement) place.open = true;
      place.scrollIntoView();
      (place.querySelector("summary") ?? place).focus({ preventScroll: true });
    });
    return [link];
  }
}

function quietWords(quiet, isAll) {
  const number = (health) => quiet.filter((v) => v.health === health).length;
  const [fine, off] = [number("ok"), number("off")];
  const every = isAll && fine > 1 ? "All " : "";
  const words = [];
  if (fine) words.push(`${every}${fine} ${fine === 1 ? "check is" : "checks are"} ok`);
  if (off) words.push(`${off} ${off === 1 ? "is" : "are"} off`);
  return fine ? words.join(", ") : `${off === 1 ? "1 check is" : `${off} checks are`} off`;
}

function update(row, verdict, now) {
  row.dataset.health = verdict.health;
  showBadge(row.querySelector(".check-health"), verdict.health);
  setText(row.querySelector(".check-name"), verdict.check);
  setText(row.querySelector(".check-reason"), verdict.reason);
  showFindings(row.querySelector(".check-findings"), verdict.findings);
  row.querySelector(".check-help").href = verdict.runbook.slice(1);
  showReport(row.querySelector(".check-report"), verdict.evidence.report);
  const time = row.querySelector(".check-since");
  setText(time, since(verdict.since, now));
  time.title = new Date(verdict.since).toString();
  showEvidence(row.querySelector(".evidence"), verdict.evidence, now);
}

/** The findings beside the worst, each with its entry in the runbook. */
function showFindings(list, findings) {
  const others = findings.slice(1)
    .filter((finding) => severity(finding.health) > severity("ok"));
  list.hidden = others.length === 0;
  const items = others.slice(0, FINDINGS_SHOWN).map((finding) =>
    el("li", {}, `${finding.title} `,
      el("a", { href: finding.runbook.slice(1) }, "What to do",
        el("span", { class: "sr-only" }, ` about ${finding.code}`))));
  const more = others.length - FINDINGS_SHOWN;
  if (more > 0) items.push(el("li", {}, `and ${more} more`));
  const shown = JSON.stringify(others);
  if (list.dataset.shown === shown) return;
  list.dataset.shown = shown;
  list.replaceChildren(...items);
}

/** A link to what a nightly audit left, beside the page. */
function showReport(link, report) {
  link.hidden = !REPORT.test(report ?? "");
  if (!link.hidden) link.href = report.slice(1);
}
