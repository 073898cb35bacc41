// What somebody looks for among a flow's topics: the server chooses.

import { el, setText } from "./dom.js";
import { count } from "./format.js";

const TYPING_MS = 250;

export class TopicQuery {
  /** `changed` is called when something else is looked for. */
  constructor(id, sorts, changed) {
    this.changed = changed;
    this.sort = "";
    this.order = "asc";
    this.timer = null;
    this.search = el("input", {
      type: "search", id: `${id}-search`, autocomplete: "off",
      spellcheck: "false", placeholder: "part of a name",
    });
    this.topicClass = el("select", { id: `${id}-class` }, option("", "all classes"));
    this.status = el("select", { id: `${id}-status` }, option("", "all statuses"));
    this.sortBy = el("select", { id: `${id}-sort` }, option("", "worst first"),
      ...sorts.map(([label, name]) => option(name, label.toLowerCase())));
    this.found = el("p", { class: "found", role: "status" });
    this.element = el("form", { class: "topic-query", role: "search", "aria-label": "Topics" },
      field("Find topics", this.search), field("Class", this.topicClass),
      field("Status", this.status), field("Sort by", this.sortBy, "sort-by"),
      this.found);
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.search.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(changed, TYPING_MS);
    });
    for (const select of [this.topicClass, this.status]) {
      select.addEventListener("change", changed);
    }
    this.sortBy.addEventListener("change", () => {
      [this.sort, this.order] = [this.sortBy.value, first(this.sortBy.value)];
      changed();
    });
  }

  get isAsked() {
    return Boolean(this.search.value.trim() || this.topicClass.value
      || this.status.value || this.sort);
  }

  /** What the server is asked for. */
  get parameters() {
    return {
      ...(this.search.value.trim() && { search: this.search.value.trim() }),
      ...(this.topicClass.value && { class: chosen(this.topicClass) }),
      ...(this.status.value && { status: this.status.value }),
      ...(this.sort && { sort: this.sort, order: this.order }),
    };
  }

  /** Sorts by a column; by the same one again, the other way round. */
  sortOn(name) {
    if (this.sort === name) this.order = this.order === "asc" ? "desc" : "asc";
    else [this.sort, this.order] = [name, first(name)];
    this.sortBy.value = name;
    this.changed();
  }

  clear() {
    this.element.reset();
    [this.sort, this.order] = ["", "asc"];
  }

  /** Offers the classes and statuses that there are. */
  offer({ classes, statuses }) {
    offer(this.topicClass, classes.map((sums) => [
      sums.class || " ", sums.class || "no class"]));
    this.topicClass.parentElement.hidden = !classes.some((sums) => sums.class);
    const seen = Object.keys(statuses).reverse().filter((name) =>
      statuses[name] > 0 || name === this.status.value);
    offer(this.status, seen.map((name) =>
      [name, `${name} (${count(statuses[name])})`]));
  }

  tell(words) {
    setText(this.found, words);
  }
}

/** Figures are looked for from the largest, names and what is left from the
    first. */
const first = (name) => (["topic", "class", "", "time_to_loss_seconds"].includes(name)
  ? "asc" : "desc");

/** A select cannot tell "no class" from "all classes": that is one space. */
const chosen = (select) => select.value.trim();

const option = (value, label) => el("option", { value }, label);

function field(label, control, name = "") {
  return el("label", { class: name, for: control.id }, el("span", {}, label), control);
}

/** Options stay the same elements: one may be under somebody's finger. */
function offer(select, choices) {
  const [every, ...rest] = select.options;
  const known = new Map(rest.map((item) => [item.value, item]));
  const wanted = choices.map(([value]) => known.get(value) ?? option(value, ""));
  if (wanted.length !== rest.length || wanted.some((item, at) => item !== rest[at])) {
    const before = select.value;
    select.replaceChildren(every, ...wanted);
    select.value = wanted.some(({ value }) => value === before) ? before : "";
  }
  choices.forEach(([, label], at) => setText(wanted[at], label));
}
