// The worst topics of a flow, or those that somebody looks for.

import { askTopics } from "./api.js";
import { el, setText } from "./dom.js";
import { FactTable, NONE } from "./fact-table.js";
import { age, count, counted, waited } from "./format.js";
import { TopicQuery } from "./topic-query.js";

const MOST = 10;
const PAGE = 50;

// Label, words, kind, and what the server sorts by.
const COLUMNS = [
  ["Topic", (t) => t.topic, "name", "topic"],
  ["Class", (t) => t.class || NONE, "text", "class"],
  ["Status", (t) => t.status, "text", "status"],
  ["Records", (t) => count(t.lag_records), "number", "lag_records"],
  ["Oldest record", oldest, "number", "lag_seconds"],
  ["Lag drains in", caughtUp, "number", "drain_seconds"],
  ["Time to loss", timeToLoss, "number", "time_to_loss_seconds"],
  ["Missing", (t) => count(t.missing_records), "number", "missing_records"],
  ["Worst partition", where, "text"],
];
const SORTS = COLUMNS.filter(([, , , sort]) => sort)
  .map(([label, , , sort]) => [label, sort]);

export class TopicTable {
  constructor(block, flow, id) {
    this.flow = flow;
    this.found = null;
    this.isOpen = false;
    this.top = PAGE;
    this.asked = 0;
    this.table = new FactTable("Topics", COLUMNS, (topic) => topic.topic);
    this.table.element.classList.add("topics-scroll");
    this.table.element.querySelector("table").classList.add("topics-table");
    this.table.element.id = id;
    this.sorters = [...this.table.head.cells].map((cell, at) =>
      sorter(cell, COLUMNS[at], () => this.query.sortOn(COLUMNS[at][3])));
    this.query = new TopicQuery(id, SORTS, () => this.ask());
    block.querySelector(".topics-place").append(
      this.query.element, this.table.element);
    this.note = block.querySelector(".topics-note");
    this.button = block.querySelector(".topics-more");
    this.button.setAttribute("aria-controls", id);
    this.button.addEventListener("click", () => this.toggle());
    this.next = block.querySelector(".topics-next");
    this.next.addEventListener("click", () => {
      this.top += PAGE;
      this.refresh();
    });
  }

  get isListing() {
    return this.isOpen || this.query.isAsked;
  }

  show(seen) {
    this.seen = seen;
    this.query.offer(seen);
    const isFound = this.isListing && this.found !== null;
    const listed = isFound ? this.found.topics
      : seen.topics.filter((topic) => topic.notable).slice(0, MOST);
    this.table.element.classList.toggle("all", this.isListing);
    this.table.show(listed, (row, topic) => {
      row.classList.toggle("calm", !topic.notable);
      row.classList.toggle("short", topic.missing_records > 0);
    });
    this.showOrder();
    const total = seen.totals.topics;
    this.button.setAttribute("aria-expanded", String(this.isListing));
    this.button.hidden = total === 0;
    setText(this.button, this.isListing
      ? "Show only the worst"
      : total === 1 ? "Show the topic" : `Show all ${count(total)} topics`);
    const rest = isFound ? this.found.matching - listed.length : 0;
    this.next.hidden = rest <= 0;
    setText(this.next, `Show ${count(Math.min(rest, PAGE))} more`);
    this.query.tell(isFound && this.query.isAsked
      ? `${count(this.found.matching)} of ${counted(total, "topic")}` : "");
    if (!this.isListing) setText(this.note, noteWords(listed, seen.totals));
    else if (isFound) setText(this.note, "");
  }

  showOrder() {
    COLUMNS.forEach(([, , , sort], at) => {
      const isSorted = sort !== undefined && this.query.sort === sort;
      const cell = this.table.head.cells[at];
      if (!isSorted) cell.removeAttribute("aria-sort");
      else {
        cell.setAttribute("aria-sort",
          this.query.order === "asc" ? "ascending" : "descending");
      }
    });
  }

  toggle() {
    if (this.isListing) {
      this.isOpen = false;
      this.query.clear();
    } else this.isOpen = true;
    return this.ask();
  }

  /** Asks anew for the first page. */
  ask() {
    this.top = PAGE;
    return this.refresh();
  }

  /** Asks for what is looked for, while it is shown. */
  async refresh() {
    this.asked += 1;
    const asked = this.asked;
    let trouble = "";
    let found = null;
    if (this.isListing) {
      try {
        const answer = await askTopics({
          flow: this.flow, top: this.top, ...this.query.parameters });
        [found] = answer.flows;
      } catch (error) {
        // A list over a bad line says nothing about the agent.
        console.warn(`No answer about topics: ${error.message}`);
        trouble = "Topics could not be fetched. Retrying.";
        found = this.found;
      }
    }
    // Somebody types on: only the last answer counts.
    if (asked !== this.asked) return;
    this.found = found;
    if (this.seen) this.show(this.seen);
    if (trouble) setText(this.note, trouble);
  }
}

/** A head that sorts when it is pressed. */
function sorter(cell, [label, , , sort], sortOn) {
  if (sort === undefined) return null;
  const button = el("button", { type: "button", class: "sorter" }, label);
  button.addEventListener("click", sortOn);
  cell.replaceChildren(button);
  return button;
}

/** What the short list leaves out, so that its figures add up. */
function noteWords(listed, totals) {
  const behind = listed.filter((topic) => topic.lag_records > 0).length;
  const hidden = totals.topics_behind - behind;
  if (hidden <= 0) return "";
  if (listed.length === MOST) {
    return `The worst ${MOST}; ${count(hidden)} more ${hidden === 1 ? "has" : "have"} lag.`;
  }
  const topics = hidden === 1 ? "topic has" : "topics have";
  return `${count(hidden)} ${topics} records in flight, as is normal.`;
}

export function oldest(topic) {
  if (!topic.lag_records) return NONE;
  const words = waited(topic.lag_seconds);
  return topic.lag_seconds_at_least ? `at least ${words}` : words;
}

export function caughtUp(topic) {
  if (!topic.lag_records) return NONE;
  if (topic.drain_seconds !== null) return waited(topic.drain_seconds);
  return topic.notable ? "not shrinking" : NONE;
}

export function timeToLoss(topic) {
  if (topic.time_to_loss_seconds === null) return NONE;
  if (topic.time_to_loss_seconds < 0.5) return "now";
  const about = topic.time_to_loss_estimated ? "about " : "";
  return `${about}${age(topic.time_to_loss_seconds)}`;
}

function where({ partition, position, position_by: by }) {
  if (partition === null) return NONE;
  // Without separators, because it is looked up elsewhere.
  return `${partition} at offset ${position ?? "unknown"}${by ? ` (${by})` : ""}`;
}
