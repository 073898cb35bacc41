// Tables of facts: the same on a phone, where each row is a small card.

import { el, setName, setText } from "./dom.js";

export const NONE = "–";

/** A table that keeps its rows, so that nothing flickers or loses its focus.

`columns` are [label, words, kind]: `words` tells what a row's cell says, and
`kind` is "name", "text" or "number". The first column names the row. */
export class FactTable {
  constructor(label, columns, key) {
    this.columns = columns;
    this.key = key;
    this.rows = new Map();
    this.head = el("tr", { role: "row" }, ...columns.map(([name, , kind]) =>
      el("th", { scope: "col", role: "columnheader", class: kind }, name)));
    this.body = el("tbody", { role: "rowgroup" });
    this.element = el("div",
      { class: "scroll facts", tabindex: "0", role: "region", "aria-label": label },
      el("table", { role: "table" },
        el("thead", { role: "rowgroup" }, this.head), this.body));
  }

  /** Shows these items; `mark` may change a row by its item. */
  show(items, mark = () => {}) {
    this.element.hidden = items.length === 0;
    const keys = new Set(items.map(this.key));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.remove();
      this.rows.delete(key);
    }
    let next = this.body.firstElementChild;
    for (const item of items) {
      const row = this.rows.get(this.key(item)) ?? this.make(this.key(item));
      this.columns.forEach(([, words, kind], n) => {
        const told = words(item);
        (kind === "name" ? setName : setText)(row.cells[n], told);
        row.cells[n].classList.toggle("none", told === NONE);
      });
      mark(row, item);
      if (row === next) next = row.nextElementSibling;
      else this.body.insertBefore(row, next);
    }
  }

  make(key) {
    const row = el("tr", { role: "row" }, ...this.columns.map(
      ([label, , kind], n) => el(n ? "td" : "th", n
        ? { role: "cell", "data-label": label, "data-column": slug(label), class: kind }
        : { role: "rowheader", scope: "row", class: kind })));
    this.rows.set(key, row);
    return row;
  }
}

const slug = (label) => label.toLowerCase().replaceAll(" ", "-");
