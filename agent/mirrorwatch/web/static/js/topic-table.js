// The worst topics of a flow, or all of them when asked for.

import { askTopics } from "./api.js";
import { el, setName, setText } from "./dom.js";
import { age, count, waited } from "./format.js";
import { missing as gone } from "./loss.js";

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
      : seen.topics.filter((topic) => topic.notable).slice(0, MOST);
    this.scroll.hidden = listed.length === 0;
    this.scroll.classList.toggle("all", this.isOpen);
    this.place(listed);
    this.button.setAttribute("aria-expanded", String(this.isOpen));
    const total = seen.totals.topics;
    this.button.hidden = total === 0;
    setText(this.button, this.isOpen
      ? "Show only the worst" : `Show all ${count(total)} topics`);
    if (!this.isOpen) setText(this.note, noteWords(listed, seen.totals));
    else if (this.all) setText(this.note, "");
  }

  async toggle() {
    this.isOpen = !this.isOpen;
    this.all = null;
    await this.refresh();
  }

  /** Asks for all topics while they are shown. */
  async refresh() {
    let trouble = "";
    if (this.isOpen) {
      try {
        const found = await askTopics({ flow: this.flow, all: 1 });
        this.all = found.flows[0].topics;
      } catch (error) {
        // A long list over a bad line says nothing about the agent.
        console.warn(`No answer about all topics: ${error.message}`);
        trouble = "Not all topics could be fetched; asking again.";
      }
    }
    if (this.seen) this.show(this.seen);
    if (trouble) setText(this.note, trouble);
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
      row.classList.toggle("calm", !topic.notable);
      row.classList.toggle("short", gone(topic) > 0);
      COLUMNS.forEach(([, words], n) => {
        const told = words(topic);
        (n ? setText : setName)(row.cells[n], told);
        row.cells[n].classList.toggle("none", told === NONE);
      });
      if (row === next) next = row.nextElementSibling;
      else body.insertBefore(row, next);
    }
  }

  make(name) {
    const row = el("tr", { role: "row" }, ...COLUMNS.map(([label], n) =>
      el(n ? "td" : "th", n
        ? { role: "cell", "data-label": label, "data-column": slug(label) }
        : { role: "rowheader", scope: "row" })));
    this.rows.set(name, row);
    return row;
  }
}

const slug = (label) => label.toLowerCase().replaceAll(" ", "-");

/** What the short list leaves out, so that its figures add up. */
function noteWords(listed, totals) {
  const behind = listed.filter((topic) => topic.lag_records > 0).length;
  const hidden = totals.topics_behind - behind;
  if (hidden <= 0) return "";
  if (listed.length === MOST) {
    return `The worst ${MOST}; ${count(hidden)} more are behind.`;
  }
  const topics = hidden === 1 ? "topic has" : "topics have";
  return `${count(hidden)} ${topics} records on the way, as is usual.`;
}

function oldest(topic) {
  if (!topic.lag_records) return NONE;
  const words = waited(topic.lag_seconds);
  return topic.lag_seconds_at_least ? `at least ${words}` : words;
}

function caughtUp(topic) {
  if (!topic.lag_records) return NONE;
  if (topic.drain_seconds !== null) return waited(topic.drain_seconds);
  return topic.notable ? "not getting less" : NONE;
}

function timeToLoss(topic) {
  if (topic.time_to_loss_seconds === null) return NONE;
  if (topic.time_to_loss_seconds < 0.5) return "now";
  const about = topic.time_to_loss_estimated ? "about " : "";
  return `${about}${age(topic.time_to_loss_seconds)}`;
}

function missing(topic) {
  if (gone(topic) === null) return NONE;
  const suspected = topic.suspected_records
    ? ` (${count(topic.suspected_records)} suspected)` : "";
  return `${count(gone(topic))}${suspected}`;
}

function where({ partition, position, position_by: by }) {
  if (partition === null) return NONE;
  // Without separators, because it is looked up elsewhere.
  return `${partition} at offset ${position ?? "not known"}${by ? ` (${by})` : ""}`;
}
