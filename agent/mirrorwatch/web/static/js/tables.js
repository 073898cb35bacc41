// The figures behind the charts, the lost probes, and every partition.

import { el, setText } from "./dom.js";
import { age, count, counted, duration, moment } from "./format.js";
import { badge } from "./health.js";

export function showHistoryTable(card, history, now) {
  const fold = card.querySelector(".table-fold");
  if (!fold.open) return;
  const seen = history.columns;
  const rows = history.times.map((at, i) => row([
    moment(new Date(at * 1000), now),
    seen.health[i] === null ? "no data" : badge(seen.health[i]),
    duration(seen.latency_median_seconds[i]),
    duration(seen.latency_p99_seconds[i]),
    duration(seen.latency_worst_seconds[i]),
    count(seen.outstanding[i]),
    count(seen.delivered[i]),
    count(seen.late[i]),
    count(seen.lost[i]),
    count(seen.duplicates[i]),
  ]));
  fold.querySelector("tbody").replaceChildren(...rows.reverse());
}

export function showPartitions(card, canary, now) {
  const fold = card.querySelector(".partitions-fold");
  const partitions = canary?.partitions ?? [];
  fold.hidden = partitions.length === 0;
  if (fold.hidden) return;
  const topics = canary.topic === canary.remote_topic
    ? canary.topic : `${canary.topic} → ${canary.remote_topic}`;
  setText(fold.querySelector("summary"),
    `Canary on ${counted(partitions.length, "partition")} of ${topics}`);
  if (!fold.open) return;
  fold.querySelector("tbody").replaceChildren(...partitions.map((p) => row([
    p.warming ? `${p.partition} (warming)` : String(p.partition),
    count(p.outstanding),
    ago(p.oldest_outstanding_at, now),
    ago(p.last_arrival_at, now),
    count(p.sent),
    count(p.delivered),
    count(p.late),
    count(p.lost),
    count(p.recovered),
    count(p.duplicates),
    count(p.reordered),
    count(p.failed),
  ])));
}

export function showLosses(card, canary, now) {
  const fold = card.querySelector(".losses-fold");
  const losses = canary?.losses ?? [];
  fold.hidden = losses.length === 0;
  if (fold.hidden) return;
  setText(fold.querySelector("summary"),
    `Last lost probes (${losses.length}), with proof`);
  const shown = losses.map((l) => `${l.partition}/${l.sequence}`).join();
  if (!fold.open || fold.dataset.shown === shown) return;
  fold.dataset.shown = shown;
  fold.querySelector("tbody").replaceChildren(
    ...[...losses].reverse().map((loss) => row([
      String(loss.partition),
      String(loss.sequence),
      String(loss.source_offset),
      moment(new Date(loss.sent_at), now),
      moment(new Date(loss.proved_at), now),
      loss.proof,
    ], "text")));
}

function ago(text, now) {
  return text === null ? "–" : `${age((now - new Date(text)) / 1000)} ago`;
}

function row(cells, lastClass = "") {
  const made = cells.map((cell) => el("td", {}, cell));
  if (lastClass) made.at(-1).className = lastClass;
  return el("tr", {}, ...made);
}
