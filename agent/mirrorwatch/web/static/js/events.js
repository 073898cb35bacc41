// Events of the last day, the newest first, to be read or copied.

import { title } from "./answer.js";
import { el, setText } from "./dom.js";
import { moment } from "./format.js";
import { icon } from "./health.js";

const SHOWN = 3;
const COPIED_MS = 2000;

const block = document.getElementById("events");
const list = block.querySelector("ul");
const more = block.querySelector(".events-more");
const copy = block.querySelector(".events-copy");
let events = [];
let flows = [];
let isWhole = false;

more.addEventListener("click", () => {
  isWhole = !isWhole;
  draw(new Date());
});

copy.addEventListener("click", async () => {
  const text = events.map((event) => line(event)).join("\n");
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers refuse it to a page without TLS.
    copyBySelection(text);
  }
  const words = copy.textContent;
  copy.textContent = "Copied";
  setTimeout(() => { copy.textContent = words; }, COPIED_MS);
});

/** Shows what was last told of events. */
export function showEvents(found, known, now) {
  [events, flows] = [found, known];
  draw(now);
}

function draw(now) {
  block.hidden = flows.length === 0;
  copy.hidden = events.length === 0;
  block.querySelector(".events-none").hidden = events.length > 0;
  const shown = isWhole ? events : events.slice(0, SHOWN);
  shown.forEach((event, at) => {
    const row = list.children[at] ?? list.appendChild(
      el("li", {}, icon("ok"), el("time"), el("p")));
    row.dataset.health = event.health;
    row.classList.toggle("over", event.until !== null);
    row.querySelector("use").setAttribute("href", `#icon-${event.health}`);
    setText(row.querySelector("time"), `${when(event, now)} · #${event.id}`);
    setText(row.querySelector("p"), words(event));
  });
  while (list.children.length > shown.length) list.lastElementChild.remove();
  more.hidden = events.length <= SHOWN;
  more.setAttribute("aria-expanded", String(isWhole));
  setText(more, isWhole ? `Only the newest ${SHOWN}` : `All ${events.length}`);
}

function words(event) {
  const flow = flows.find(({ name }) => name === event.flow);
  const which = flows.length === 1 ? "" : `${flow ? title(flow) : event.flow}: `;
  return `${which}${event.title}${times(event)}`;
}

function times({ numbers }) {
  return numbers.times ? ` (${numbers.times} times)` : "";
}

/** Begin and end; only one time for what was over at once. */
function when({ at, until }, now) {
  const begin = moment(new Date(at), now);
  if (until === null) return `since ${begin}`;
  const end = moment(new Date(until), now);
  return begin === end ? begin : `${begin} to ${end}`;
}

function line(event) {
  const [at, until] = [event.at, event.until].map(
    (text) => text && `${new Date(text).toISOString().slice(0, 19)}Z`.replace("T", " "));
  const over = until === null ? " (not over)" : until === at ? "" : ` to ${until}`;
  return `#${event.id} ${at}${over} ${event.flow}: ${event.title}${times(event)}`;
}

function copyBySelection(text) {
  const field = el("textarea", { class: "sr-only", "aria-hidden": "true" });
  field.value = text;
  block.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  copy.focus();
}
