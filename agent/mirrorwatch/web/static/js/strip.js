// How healthy a flow was over time. Height tells the severity, not only
// colour; where the agent did not look there is nothing.

import { svg } from "./dom.js";
import { moment } from "./format.js";
import { severity } from "./health.js";

const HEIGHT = 24;
const HEIGHTS = { off: 3, ok: 6, unknown: 11, warning: 16, critical: 24 };

export function showStrip(strip, history, [from, to]) {
  const runs = runsOf(history);
  strip.setAttribute("viewBox", `0 0 ${to - from} ${HEIGHT}`);
  strip.replaceChildren(...runs.map((run) => {
    const height = HEIGHTS[run.health];
    const start = Math.max(run.start, from);
    const bar = svg("rect", {
      x: start - from,
      y: HEIGHT - height,
      width: Math.max(0, Math.min(run.end, to) - start),
      height,
      "data-health": run.health,
    }, svg("title"));
    bar.firstChild.textContent = `${run.health}, ${times(run)}`;
    return bar;
  }));
  strip.setAttribute("aria-label", summary(runs));
}

function runsOf({ times, columns, step }) {
  const runs = [];
  columns.health.forEach((health, at) => {
    if (health === null) return;
    const last = runs.at(-1);
    if (last?.health === health && last.end === times[at]) {
      last.end += step;
    } else {
      runs.push({ health, start: times[at], end: times[at] + step });
    }
  });
  return runs;
}

function summary(runs) {
  if (runs.length === 0) return "No history yet";
  const bad = runs.filter((run) => severity(run.health) > severity("ok"));
  if (bad.length === 0) return "No problems in this time range";
  const named = bad.slice(-5).map((run) => `${run.health} ${times(run)}`);
  return `${bad.length} times not healthy, most recently:  ${named.join("; ")}`;
}

function times({ start, end }) {
  const text = (at) => moment(new Date(at * 1000), new Date());
  return `${text(start)} to ${text(end)}`;
}
