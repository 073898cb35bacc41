// The numbers one looks for first.

import { el, setText } from "./dom.js";
import { age, count, duration, moment } from "./format.js";

// Without an arrival for so long, latencies are of the time before.
const SILENT = 30_000;

const LABELS = [
  ["median", "Median latency", "Median end-to-end latency of the probes of the last 5 minutes"],
  ["p99", "p99 latency", "99th percentile of the end-to-end latency of the last 5 minutes"],
  ["worst", "Worst latency", "Largest end-to-end latency of the last 5 minutes"],
  ["waiting", "In flight", "Probes sent and not yet arrived"],
  ["arrival", "Last arrival", "Time since a probe last arrived"],
  ["lost", "Probes lost", "Probes proved not to be at the target, in the time range"],
  ["late", "Probes late", "Probes that arrived after the deadline, in the time range"],
  ["duplicates", "Duplicates", "Duplicates of probes, in the time range"],
];

export class Figures {
  constructor(card) {
    this.values = new Map();
    const list = card.querySelector(".figures");
    for (const [name, label, title] of LABELS) {
      const value = el("dd", { class: "value" }, "–");
      const note = el("dd", { class: "note" });
      list.append(el("div", { class: `figure ${name}`, title },
        el("dt", {}, label), value, note));
      this.values.set(name, { value, note });
    }
  }

  show(canary, history, now) {
    const recent = canary?.last_5_minutes;
    const partitions = canary?.partitions ?? [];
    const sum = (name) => partitions.length === 0
      ? null : partitions.reduce((total, p) => total + p[name], 0);
    const arrival = last(partitions.map((p) => p.last_arrival_at));
    const isOver = arrival !== null && now - arrival > SILENT;
    for (const name of ["median", "p99", "worst"]) {
      this.set(name, duration(recent?.[`latency_${name}_seconds`]),
        isOver ? `until ${moment(arrival, now)}` : "5 min");
    }
    const oldest = first(partitions.map((p) => p.oldest_outstanding_at));
    this.set("waiting", count(sum("outstanding")),
      oldest === null ? "" : `oldest ${age((now - oldest) / 1000)}`);
    this.set("arrival",
      arrival === null ? "–" : `${age((now - arrival) / 1000)}`,
      arrival === null ? "none yet" : "ago");
    for (const name of ["lost", "late", "duplicates"]) {
      const inRange = partitions.length === 0 ? null : history.total(name);
      const total = sum(name);
      this.set(name, count(inRange), total ? `${count(total)} in total` : "");
      const tile = this.values.get(name).value.parentElement;
      tile.classList.toggle("some", Boolean(inRange));
    }
  }

  set(name, value, note) {
    const shown = this.values.get(name);
    setText(shown.value, value);
    setText(shown.note, note);
  }
}

const dates = (texts) =>
  texts.filter((text) => text !== null).map((text) => new Date(text));

function first(texts) {
  const known = dates(texts);
  return known.length ? new Date(Math.min(...known)) : null;
}

function last(texts) {
  const known = dates(texts);
  return known.length ? new Date(Math.max(...known)) : null;
}
