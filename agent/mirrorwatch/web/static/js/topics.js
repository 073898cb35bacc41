// How far behind a flow's topics are, and how long until records are lost.

import { el, setText } from "./dom.js";
import { FactTable } from "./fact-table.js";
import { age, count, counted } from "./format.js";
import { severity, showBadge } from "./health.js";
import { lossTime, lossWords, moreWords, notListed } from "./loss.js";
import { TopicTable, caughtUp, oldest, timeToLoss } from "./topic-table.js";

const LABELS = [
  ["oldest", "Oldest record", "Age of the oldest record that is not copied yet"],
  ["waiting", "Lag", "Source offsets that are not copied yet"],
  ["behind", "Topics with lag", "Topics with records that are not copied yet"],
  ["repeated", "Duplicates", "Duplicates of records, from mirrorwatch's first start on"],
  ["resets", "Position resets", "Position resets of MirrorMaker, from mirrorwatch's first start on"],
];

export class Topics {
  constructor(card, flow) {
    this.block = card.querySelector(".topics");
    this.block.id = `${card.id}-topics`;
    this.table = new TopicTable(this.block, flow, `${card.id}-topic-table`);
    this.losing = losingTable();
    this.find(".losing-fold").append(this.losing.element);
    this.values = new Map();
    const list = this.find(".topic-figures");
    for (const [name, label, title] of LABELS) {
      const value = el("dd", { class: "value" }, "–");
      const note = el("dd", { class: "note" });
      list.append(el("div", { class: `figure ${name}`, title },
        el("dt", {}, label), value, note));
      this.values.set(name, { value, note });
    }
  }

  find(selector) {
    return this.block.querySelector(selector);
  }

  /** Shows what the last answer said; `verdicts` are those of the flow. */
  show(seen, verdicts, now, staleAfter) {
    this.block.hidden = seen === undefined;
    if (this.block.hidden) return;
    const isKnown = seen.observed_at !== null;
    for (const part of this.block.querySelectorAll(".known")) {
      part.hidden = !isKnown;
    }
    this.showState(seen, now, staleAfter);
    this.showLoss(seen, verdicts);
    if (!isKnown) return;
    this.showFigures(seen.totals);
    showClasses(this.find(".classes"), seen.classes);
    this.showLosing(seen.first_to_lose);
    this.table.show(seen);
  }

  showState(seen, now, staleAfter) {
    const words = [];
    if (seen.observed_at === null) {
      words.push(...notListed(seen));
    } else {
      const seconds = (now - new Date(seen.observed_at)) / 1000;
      words.push(statuses(seen));
      if (seconds > staleAfter) words.push(`as of ${age(seconds)} ago`);
      if (seen.unknown_partitions) {
        words.push(`${counted(seen.unknown_partitions, "partition")} unknown`);
      }
      words.push(...seen.problems);
    }
    setText(this.find(".topics-state"), words.join(" · "));
  }

  showLoss(seen, verdicts) {
    const first = seen.time_to_loss;
    const judged = verdicts.find((v) => v.check === "retention")?.health;
    const sign = this.find(".loss-health");
    // The verdict is on what waits; another topic is no business of its.
    const isSame = first?.topic === seen.waiting_time_to_loss?.topic;
    sign.hidden = judged === undefined || !isSame
      || severity(judged) <= severity("ok");
    if (!sign.hidden) showBadge(sign, judged);
    setText(this.find(".loss-time"), lossTime(seen));
    setText(this.find(".loss-words"), lossWords(seen));
    setText(this.find(".loss-more"), moreWords(seen));
  }

  showLosing(topics) {
    const fold = this.find(".losing-fold");
    fold.hidden = topics.length === 0;
    setText(fold.querySelector("summary"), topics.length === 1
      ? "Topic that would lose records"
      : `First ${topics.length} topics to lose records`);
    this.losing.show(topics);
  }

  showFigures(totals) {
    const waits = totals.lag_records > 0;
    this.set("oldest", waits ? oldest(totals) : "none", "");
    this.set("waiting", count(totals.lag_records), "");
    this.set("behind", count(totals.topics_behind),
      `of ${count(totals.topics)}`);
    for (const [name, number] of [["repeated", totals.repeated_records],
      ["resets", totals.position_resets]]) {
      this.set(name, count(number), number === null ? "unknown" : "");
    }
  }

  set(name, value, note) {
    const shown = this.values.get(name);
    setText(shown.value, value);
    setText(shown.note, note);
  }
}

function losingTable() {
  return new FactTable("First topics to lose records", [
    ["Topic", (t) => t.topic, "name"],
    ["Time to loss", timeToLoss, "number"],
    ["Share of retention left", ({ time_to_loss_share: share }) =>
      `${Math.floor(share * 100)} %`, "number"],
    ["Records", (t) => count(t.lag_records), "number"],
    ["Oldest record", oldest, "number"],
    ["Lag drains in", caughtUp, "number"],
  ], (topic) => topic.topic);
}

function statuses({ statuses: counts, totals }) {
  const named = Object.entries(counts)
    .filter(([, number]) => number > 0).reverse()
    .map(([status, number]) => `${count(number)} ${status}`);
  return totals.topics === 0 ? "none" : named.join(", ");
}

/** Sums by class, where the configuration names classes. */
function showClasses(table, classes) {
  table.hidden = !classes.some((sums) => sums.class !== "");
  if (table.hidden) return;
  const body = table.tBodies[0];
  classes.forEach((sums, at) => {
    const row = body.rows[at] ?? body.appendChild(el("tr", {},
      el("th", { scope: "row" }), el("td"), el("td"), el("td")));
    [
      sums.class || "no class",
      `${count(sums.topics_behind)} of ${count(sums.topics)}`,
      count(sums.lag_records),
      oldest(sums),
    ].forEach((words, n) => setText(row.cells[n], words));
  });
  while (body.rows.length > classes.length) body.lastElementChild.remove();
}
