// The mirror's connectors and tasks, as Connect tells of them.

import { el, setText } from "./dom.js";
import { FactTable, NONE } from "./fact-table.js";
import { age, count, counted, duration } from "./format.js";
import { Part, asOf } from "./part.js";

const FINE = "RUNNING";

export class TasksPart {
  constructor(card) {
    this.part = new Part(card, "tasks", "Tasks");
    this.note = el("p", { class: "part-note" });
    this.now = new Date();
    this.table = new FactTable("Connectors and tasks", [
      ["Connector", (t) => t.connector, "name"],
      ["Task", (t) => (t.task === null ? "connector" : String(t.task)), "text"],
      ["State", (t) => t.state, "text"],
      ["For", (t) => age((this.now - new Date(t.since)) / 1000), "number"],
      ["Worker", (t) => t.worker ?? NONE, "text"],
      ["Starts", (t) => count(t.starts), "number"],
      ["Failures", (t) => count(t.failures), "number"],
      ["Error", troubles, "text wide"],
    ], (t) => `${t.connector} ${t.task}`);
    this.part.body.append(this.note, this.table.element);
  }

  show(seen, verdicts, now, staleAfter) {
    this.now = now;
    const judged = verdicts.filter((v) => v.check === "tasks");
    this.part.tell(words(seen, now, staleAfter), judged);
    this.table.show(seen?.tasks ?? [], (row, task) => {
      row.classList.toggle("calm", task.role === "neighbour");
      row.dataset.state = task.state === FINE ? "" : task.state.toLowerCase();
    });
    setText(this.note, seen ? note(seen) : "");
  }
}

function words(seen, now, staleAfter) {
  if (!seen || seen.total === 0) {
    return [seen ? "none known" : "not read yet", ...(seen?.problems ?? [])]
      .join(" · ");
  }
  const others = new Map();
  for (const { role, state } of seen.tasks) {
    if (role === "neighbour" || state === FINE) continue;
    others.set(state, (others.get(state) ?? 0) + 1);
  }
  return [
    `${seen.copying_running} of ${seen.copying} source tasks RUNNING`,
    ...[...others].map(([state, number]) => `${number} ${state}`),
    seen.unassigned_partitions
      ? `${counted(seen.unassigned_partitions, "partition")} unassigned` : "",
    asOf(seen.observed_at, now, staleAfter),
    ...seen.problems,
  ].filter(Boolean).join(" · ");
}

function note(seen) {
  const span = duration(seen.window_seconds);
  return [
    seen.read_from ? `Read from ${seen.read_from}.` : "",
    `Starts and failures are those of the last ${span}. Rebalances: `
      + `${count(seen.rebalances)}.`,
    "RUNNING is Connect's state. See canary and lag for whether records arrive.",
    seen.unassigned ? `Unassigned: ${seen.unassigned}.` : "",
  ].filter(Boolean).join(" ");
}


function troubles(task) {
  const told = [
    task.cause ?? "",
    ...task.stuck_at.map((stuck) => `stuck at ${stuck}`),
    task.not_copied_partitions
      ? `not copied: ${task.not_copied} (${counted(task.not_copied_partitions, "partition")})` : "",
  ].filter(Boolean);
  return told.join("; ") || NONE;
}
