// The worst topics of a flow, or all of them when asked for.

import { askTopics } from "./api.js";
import { el, setText } from "./dom.js";
import { age, count, waited } from "./format.js";

const MOST = 10;
const NONE = "–";

const COLUMNS = [
  ["Topic", (t) => t.topic],
  ["Status", (t) => t.status],
  ["Records", (t) => count(t.lag_records)],
  ["Oldest waits", oldest],
  ["Caught up in", caughtUp],
  ["Time to loss", timeToLoss],
  ["Missing", missing],
  ["Worst partition", where],
];

export class TopicTable {
  constructor(block, flow, id) {
    this.flow = flow;
    this.all = null;
    this.isOpen = false;
    this.rows = new Map();
    this.scroll = block.querySelector(".topics-scroll");
    this.scroll.id = id;
    this.table = this.scroll.querySelector("table");
    this.table.tHead.rows[0].append(...COLUMNS.map(([name]) =>
      el("th", { scope: "col", role: "columnheader" }, name)));
    this.note = block.querySelector(".topics-note");
    this.button = block.querySelector(".topics-more");
    this.button.setAttribute("aria-controls", id);
    this.button.addEventListener("click", () => this.toggle());
  }

  show(seen) {
    this.seen = seen;
    const listed = this.isOpen && this.all ? this.all
      : seen.topics.filter(isNews).slice(0, MOST);
    this.scroll.hidden = listed.length === 0;
    this.scroll.classList.toggle("all", this.isOpen);
    this.place(listed);
    this.button.setAttribute("aria-expanded", String(this.isOpen));
    const total = seen.totals.topics;
    this.button.hidden = total === 0;
    setText(this.button, this.isOpen
      ? "Show only topics behind" : `Show all ${count(total)} topics`);
    const hidden = seen.totals.topics_behind - listed.length;
    setText(this.note, !this.isOpen && hidden > 0 && listed.length === MOST
      ? `The worst ${MOST}; ${count(hidden)} more are behind.` : "");
  }

  async toggle() {
    this.isOpen = !this.isOpen;
    this.all = null;
    await this.refresh().catch(() => setText(this.note,
      "The agent did not answer; asking again."));
  }

  /** Asks for all topics while they are shown. */
  async refresh() {
    if (this.isOpen) {
      const found = await askTopics({ flow: this.flow, all: 1 });
      this.all = found.flows[0].topics;
    }
    if (this.seen) this.show(this.seen);
  }

  /** Rows stay the same elements, so that nothing flickers. */
  place(topics) {
    const body = this.table.tBodies[0];
    const names = new Set(topics.map((topic) => topic.topic));
    for (const [name, row] of this.rows) {
      if (names.has(name)) continue;
      row.remove();
      this.rows.delete(name);
    }
    let next = body.firstElementChild;
    for (const topic of topics) {
      const row = this.rows.get(topic.topic) ?? this.make(topic.topic);
      row.classList.toggle("even", topic.status === "even");
      COLUMNS.forEach(([, words], n) => {
        setText(row.cells[n], words(topic));
        row.cells[n].classList.toggle("none", words(topic) === NONE);
      });
      if (row === next) next = row.nextElementSibling;
      else body.insertBefore(row, next);
    }
  }

  make(name) {
    const row = el("tr", { role: "row" }, ...COLUMNS.map(([label], n) =>
      el(n ? "td" : "th", n ? { role: "cell", "data-label": label }
        : { role: "rowheader", scope: "row" })));
    this.rows.set(name, row);
    return row;
  }
}

/** Whether a topic is worth a line: behind, or with records missing. */
function isNews(topic) {
  return topic.lag_records > 0 || gone(topic) > 0 || topic.suspected_records > 0;
}

function gone({ skipped_records: skipped, recovered_records: recovered }) {
  return (skipped ?? 0) - (recovered ?? 0);
}

function oldest(topic) {
  if (!topic.lag_records) return NONE;
  const words = waited(topic.lag_seconds);
  return topic.lag_seconds_at_least ? `at least ${words}` : words;
}

function caughtUp(topic) {
  if (!topic.lag_records) return NONE;
  return topic.drain_seconds === null
    ? "not getting less" : waited(topic.drain_seconds);
}

function timeToLoss(topic) {
  if (topic.time_to_loss_seconds === null) return NONE;
  const about = topic.time_to_loss_estimated ? "about " : "";
  return `${about}${age(topic.time_to_loss_seconds)}`;
}

function missing(topic) {
  if (topic.skipped_records === null) return NONE;
  const suspected = topic.suspected_records
    ? ` (${count(topic.suspected_records)} suspected)` : "";
  return `${count(gone(topic))}${suspected}`;
}

function where({ partition, position, position_by: by }) {
  if (partition === null) return NONE;
  return `${partition} at offset ${count(position)} (${by ?? "not known"})`;
}
