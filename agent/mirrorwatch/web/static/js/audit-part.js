// The last nights' audits: what was compared, and what was found.

import { askAudits } from "./api.js";
import { el, setText } from "./dom.js";
import { FactTable, NONE } from "./fact-table.js";
import { age, count, counted, moment } from "./format.js";
import { Part, more, showBlock, titled } from "./part.js";

const KINDS = [
  ["dropped", "missing"], ["corrupted", "altered"],
  ["extra", "only at the target"], ["duplicated", "duplicated"],
];
const FOUND = [...KINDS, ["filtered", "filtered"]];
const NIGHTS_EVERY_MS = 60_000;

export class AuditPart {
  constructor(card, flow) {
    this.part = new Part(card, "audit", "Audit");
    this.flow = flow.name;
    this.now = new Date();
    this.askedAt = -Infinity;
    this.link = el("a", { hidden: "" }, "Full report");
    this.note = el("p", { class: "part-note" });
    this.findings = new FactTable("Findings", [
      ["Topic", (f) => f.topic, "name"],
      ["Partition", (f) => String(f.partition), "number"],
      ["Kind", (f) => word(f.kind), "text"],
      ["Records", (f) => count(f.records), "number"],
      ["Source offsets", (f) => ranges(f.source_offsets), "text"],
      ["Target offsets", (f) => ranges(f.target_offsets), "text"],
      ["Produced", (f) => written(f, this.now), "text"],
    ], (f) => JSON.stringify(f));
    this.gaps = new FactTable("Not verified", [
      ["Topic", (g) => g.topic, "name"],
      ["Partition", (g) => (g.partition === null ? NONE : String(g.partition)), "number"],
      ["Records", (g) => count(g.records), "number"],
      ["Reason", (g) => g.reason, "text wide"],
    ], (g) => JSON.stringify(g));
    this.nights = new FactTable("Last audits", [
      ["Compared up to", (n) => moment(new Date(n.to), this.now), "text"],
      ["Records", (n) => count(n.source_records), "number"],
      ...FOUND.map(([kind, label]) =>
        [capital(label), (n) => count(n.found_records[kind]), "number"]),
      ["Not verified", (n) => count(n.unverifiable_records), "number"],
    ], (n) => n.run);
    this.blocks = [
      titled("Findings", this.findings.element),
      titled("Not verified", this.gaps.element),
      titled("Last audits", this.nights.element),
    ];
    this.part.body.append(this.note, el("p", {}, this.link), ...this.blocks);
    this.part.element.addEventListener("toggle", () => this.refresh());
    this.showNights([]);
  }

  show(seen, verdicts, now) {
    this.now = now;
    const judged = verdicts.filter((v) => v.check === "audit");
    this.part.tell(words(seen, now, judged[0]?.health), judged);
    const night = seen?.night;
    this.findings.show(night?.findings ?? []);
    this.gaps.show(night?.gaps ?? []);
    showBlock(this.blocks[0], Boolean(night?.findings.length));
    showBlock(this.blocks[1], Boolean(night?.gaps.length));
    this.link.hidden = !seen?.report;
    if (seen?.report) this.link.href = seen.report.slice(1);
    setText(this.note, seen ? note(seen, now) : "");
  }

  /** The nights before are asked for while somebody looks at them. */
  async refresh() {
    if (!this.part.isOpen || performance.now() - this.askedAt < NIGHTS_EVERY_MS) return;
    this.askedAt = performance.now();
    try {
      const { nights } = await askAudits();
      this.showNights(nights.filter((night) => night.flow === this.flow));
    } catch (error) {
      this.askedAt = -Infinity;
      console.warn(`No answer about audits: ${error.message}`);
    }
  }

  showNights(nights) {
    this.nights.show(nights, (row, night) => {
      const wrong = KINDS.some(([kind]) => night.found_records[kind]);
      row.classList.toggle("wrong", wrong);
      if (!night.report || row.querySelector("a")) return;
      const name = row.cells[0];
      name.replaceChildren(el("a", { href: night.report.slice(1) }, name.textContent));
    });
    showBlock(this.blocks[2], nights.length > 0);
  }
}

function words(seen, now, health) {
  if (!seen) return health === "off" ? "not configured" : "not read yet";
  const { night, attempt } = seen;
  const told = [];
  if (attempt?.outcome === "running") told.push("an audit is running");
  else if (attempt && !["running", "finished"].includes(attempt.outcome)) {
    told.push(`the last attempt ${attempt.outcome}`);
  }
  if (!night) told.push("no audit has completed yet");
  else {
    const found = KINDS.filter(([kind]) => night.found_records[kind])
      .map(([kind, label]) => `${count(night.found_records[kind])} ${label}`);
    told.push(`${counted(night.source_records, "record")} compared up to `
      + `${moment(new Date(night.to), now)}`);
    told.push(found.length ? found.join(", ") : "none missing, altered or duplicated");
    if (night.found_records.filtered) {
      told.push(`${count(night.found_records.filtered)} missing as configured`);
    }
    if (night.gaps_total) {
      told.push(`${count(night.unverifiable_records)} not verified`);
    }
    if (night.more_to_come) told.push("partial, the next run continues");
  }
  return told.join(" · ");
}

function note({ night, attempt, next_due: next, problems }, now) {
  const told = [];
  if (night) {
    told.push(`Compared: ${counted(night.source_records, "record")} at the source and `
      + `${count(night.target_records)} at the target, of ${counted(night.topics, "topic")}, `
      + `produced from ${moment(new Date(night.from), now)} to `
      + `${moment(new Date(night.to), now)}.`);
    const stated = Object.entries(night.stated_records)
      .map(([kind, number]) => `${count(number)} ${kind.replaceAll("_", " ")}`);
    if (stated.length) told.push(`Differ for a known reason: ${stated.join(", ")}.`);
    const rest = more(night.gaps_total, night.gaps);
    if (rest) told.push(`Not verified: ${rest}, see the report.`);
  }
  if (attempt?.error) told.push(`The last attempt ${attempt.outcome}: ${attempt.error}.`);
  if (next) {
    told.push(`The next audit is due at ${moment(new Date(next), now)} `
      + `(in ${age((new Date(next) - now) / 1000)}).`);
  }
  return [...told, ...problems.map((problem) => `${problem}.`)].join(" ");
}

const word = (kind) => KINDS.find(([name]) => name === kind)?.[1] ?? kind;

const capital = (text) => text[0].toUpperCase() + text.slice(1);

// Looked up elsewhere: without separators.
const ranges = (pairs) => pairs.map(([first, last]) =>
  (first === last ? String(first) : `${first} to ${last}`)).join(", ") || NONE;

function written({ from, to }, now) {
  if (from === null || to === null) return NONE;
  return from === to ? moment(new Date(from), now)
    : `${moment(new Date(from), now)} to ${moment(new Date(to), now)}`;
}
