// Consumer groups that read at the target: the last stretch of a record's way.

import { el, setText } from "./dom.js";
import { FactTable, NONE } from "./fact-table.js";
import { age, count, counted, moment, waited } from "./format.js";
import { Part, asOf, more } from "./part.js";

const FINE = ["even", "moving"];

export class ReadersPart {
  constructor(card, flow) {
    this.flow = flow;
    this.part = new Part(card, "readers", "Readers");
    this.way = el("p", { class: "part-note readers-way" });
    this.table = new FactTable("Consumer groups at the target", [
      ["Group", (g) => g.group, "name"],
      ["Lag", (g) => count(g.lag_records), "number"],
      ["Oldest record", oldest, "number"],
      ["Status", (g) => g.status, "text"],
      ["Members", (g) => count(g.members), "number"],
      ["State", (g) => g.state ?? NONE, "text"],
      ["Where", where, "text wide"],
    ], (g) => g.group);
    this.note = el("p", { class: "part-note" });
    this.part.body.append(this.way, this.table.element, this.note);
  }

  show(seen, verdicts, now, staleAfter) {
    const judged = verdicts.filter((v) => v.check === "readers");
    // Most sites configure none.
    this.part.element.hidden = !seen && judged.every((v) => v.health === "off");
    this.part.tell(words(seen, now, staleAfter), judged);
    setText(this.way, seen ? this.describe(seen, verdicts) : "");
    this.table.show(seen?.groups ?? [], (row, group) => {
      row.dataset.state = FINE.includes(group.status) ? "" : "failed";
    });
    setText(this.note, seen ? note(seen, now) : "");
  }

  /** Source, mirror, target and readers, with what waits between them. */
  describe(seen, verdicts) {
    const lag = verdicts.find((v) => v.check === "lag")?.evidence ?? {};
    const mirror = lag.lag_records === undefined ? "lag not known"
      : stretch(lag.lag_records, lag.lag_seconds);
    return `${this.flow.source} → mirror (${mirror}) → ${this.flow.target} → `
      + `${counted(seen.total, "reader")} `
      + `(${stretch(seen.lag_records, seen.lag_seconds)})`;
  }
}

const stretch = (records, seconds) => (records
  ? `${counted(records, "record")}, oldest ${waited(seconds)}` : "no lag");

function words(seen, now, staleAfter) {
  if (!seen) return "not read yet";
  const bad = seen.groups.filter((g) => !FINE.includes(g.status));
  return [
    seen.total === 0 ? "no groups" : counted(seen.total, "group"),
    seen.total ? stretch(seen.lag_records, seen.lag_seconds) : "",
    ...bad.slice(0, 3).map((g) => `${g.group} ${g.status}`),
    seen.lost_total
      ? `committed offsets of ${counted(seen.lost_total, "group")} gone` : "",
    asOf(seen.observed_at, now, Math.max(staleAfter, 60)),
    ...seen.problems,
  ].filter(Boolean).join(" · ");
}

function oldest(group) {
  if (!group.lag_records) return NONE;
  const old = waited(group.lag_seconds);
  return group.at_least ? `at least ${old}` : old;
}

function where(group) {
  if (group.topic === null) return NONE;
  return `${group.topic}[${group.partition}] at ${count(group.offset)}, `
    + `stuck ${age(group.stuck_seconds ?? 0)}`;
}

function note(seen, now) {
  return [
    more(seen.total, seen.groups),
    seen.lost.length ? `Committed offsets are gone: ${
      [...seen.lost.map((g) => lost(g, now)), more(seen.lost_total, seen.lost)]
        .filter(Boolean).join("; ")}.` : "",
    seen.missing.length
      ? `Without committed offsets: ${seen.missing.join(", ")}.` : "",
  ].filter(Boolean).join(" ");
}

/** What a group had not read when its offsets were gone: no row has that lag. */
function lost(group, now) {
  return `${group.group} with lag ${counted(group.lag_records, "record")} on `
    + `${counted(group.topics, "topic")}, `
    + `first missed at ${moment(new Date(group.missed_at), now)}`;
}
