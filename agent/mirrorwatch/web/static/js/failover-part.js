// Where consumer groups would start at the target.

import { el, setText } from "./dom.js";
import { FactTable, NONE } from "./fact-table.js";
import { count, counted, moment } from "./format.js";
import { Part, asOf, more } from "./part.js";

export class FailoverPart {
  constructor(card, flow) {
    this.part = new Part(card, "failover", "Failover");
    this.note = el("p", { class: "part-note" });
    this.rest = el("p", { class: "part-note" });
    this.table = new FactTable("Where consumer groups would start", [
      ["Group", (s) => s.group, "name"],
      ["Partition", (s) => `${s.remote_topic}[${s.partition}]`, "text"],
      [`At ${flow.source}`, (s) => number(s.committed), "number"],
      [`Start at ${flow.target}`, (s) => number(s.offset), "number"],
      ["By", (s) => s.by ?? NONE, "text"],
      ["Read again", repeated, "number"],
      ["Problem", problem, "text wide"],
    ], (s) => `${s.group} ${s.remote_topic} ${s.partition}`);
    this.part.body.append(this.note, this.table.element, this.rest);
  }

  show(seen, verdicts, now, staleAfter) {
    const judged = verdicts.filter((v) => v.check === "failover");
    this.part.tell(words(seen, now, staleAfter), judged);
    const starts = seen?.starts ?? [];
    this.table.show(starts, (row, start) => {
      row.classList.toggle("wrong", start.offset === null);
    });
    setText(this.note, seen ? note(seen, now) : "");
    setText(this.rest, more(seen?.starts_total ?? 0, starts));
  }
}

function words(seen, now, staleAfter) {
  if (!seen) return "not read yet";
  const missing = seen.groups_without_start;
  return [
    seen.groups === 0 ? "no consumer group known" : counted(seen.groups, "consumer group"),
    missing ? `${count(missing)} without a start at the target` : "",
    // Groups are read every 15 s, whatever the interval of the agent.
    asOf(seen.observed_at, now, Math.max(staleAfter, 60)),
    ...seen.problems,
  ].filter(Boolean).join(" · ");
}

function note(seen, now) {
  return [
    seen.read_at ? `Offsets at the source as of ${moment(new Date(seen.read_at), now)}.` : "",
    "mirrorwatch offsets lists all, and writes the file that resets them.",
  ].filter(Boolean).join(" ");
}

const number = (offset) => (offset === null ? NONE : count(offset));

function repeated(start) {
  if (start.offset === null) return NONE;
  if (start.repeated === null) return "unknown";
  return `${start.exact || start.repeated === 0 ? "" : "≤ "}${count(start.repeated)}`;
}

function problem(start) {
  if (start.problem === null) return NONE;
  return start.excluded
    ? `${start.problem}. MirrorMaker's groups filter excludes it` : start.problem;
}
