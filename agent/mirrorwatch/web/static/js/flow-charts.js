// The two charts of a flow: how late probes are, and how many are missing.

/* global uPlot */

import { Chart, tint } from "./chart.js";
import { count, duration, moment } from "./format.js";

const NOTHING_SEEN = [0.001, 1];
const FEW_PROBES = 5;

/** Room above and below the lines of a log scale. */
const ROOM = 1.4;

/** Durations that people think in, from 1 µs to 30 days. */
const DECADES = [
  1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 86400,
  864000,
];
const FINER = DECADES.flatMap((at) => [at, 2 * at, 5 * at])
  .concat([30, 120, 300, 1800]).filter((at) => at !== 50 && at !== 50000)
  .sort((a, b) => a - b);
const FEW_LABELS = 3;

export class FlowCharts {
  constructor(card, history) {
    this.history = history;
    this.isLog = true;
    this.hasLost = false;
    this.latency = new Chart(card.querySelector(".latency"), {
      sync: history.flow,
      lines: latencyLines,
      bands: (colour) => [{ series: [2, 1], fill: tint(colour("p99"), 0.13) }],
      y: () => this.latencyScale(),
      read: (at) => this.readLatency(at),
      newest: () => history.newest(),
    });
    this.probes = new Chart(card.querySelector(".probes"), {
      sync: history.flow,
      lines: probeLines,
      y: probeScale,
      more: () => this.lostScale(),
      read: (at) => this.readProbes(at),
      newest: () => history.newest(),
    });
    const button = card.querySelector(".scale");
    button.addEventListener("click", () => {
      this.isLog = !this.isLog;
      button.setAttribute("aria-pressed", String(this.isLog));
      this.show(this.window);
      this.latency.rebuild();
    });
  }

  show(window) {
    this.window = window;
    const seen = this.history.columns;
    const times = this.history.times;
    const drawn = (values) => values.map((value) => this.drawn(value));
    this.latency.show([
      times,
      drawn(seen.latency_median_seconds),
      drawn(seen.latency_p99_seconds),
      drawn(seen.latency_worst_seconds),
    ], window);
    this.probes.show([
      times,
      seen.outstanding,
      // No bar of height zero: what is not there needs no ink.
      seen.lost.map((lost) => lost || null),
    ], window);
    const hasLost = seen.lost.some(Boolean);
    if (hasLost !== this.hasLost) {
      this.hasLost = hasLost;
      this.probes.rebuild();
    }
  }

  recolour() {
    this.latency.rebuild();
    this.probes.rebuild();
  }

  /** A log scale cannot show what is not above zero; the table does. */
  drawn(value) {
    return this.isLog && value !== null && value <= 0 ? null : value;
  }

  latencyScale() {
    const labels = (plot, values) =>
      values.map((value) => (value === null ? "" : duration(value)));
    if (!this.isLog) {
      return {
        scale: { range: (plot, low, high) => around(low, high) },
        axis: { values: labels },
      };
    }
    return {
      scale: {
        distr: 3,
        range: (plot, low, high) =>
          low === null || low <= 0 || high === null
            ? NOTHING_SEEN
            : [low / ROOM, high * ROOM],
      },
      axis: {
        values: labels,
        splits: roundDurations,
        filter: (plot, splits) => splits,
      },
    };
  }

  /** A few lost ones must show beside hundreds that wait: own scale. */
  lostScale() {
    const { scale, axis } = probeScale();
    return { name: "lost", scale, axis, show: this.hasLost };
  }

  readLatency(at) {
    const seen = this.history.columns;
    const time = this.time(at);
    if (seen.health[at] === null) return `${time}: no data`;
    if (seen.latency_median_seconds[at] === null) {
      return `${time}: no arrivals`;
    }
    return `${time}: median ${duration(seen.latency_median_seconds[at])}, `
      + `p99 ${duration(seen.latency_p99_seconds[at])}, `
      + `worst ${duration(seen.latency_worst_seconds[at])}`;
  }

  readProbes(at) {
    const seen = this.history.columns;
    if (seen.outstanding[at] === null) return `${this.time(at)}: no data`;
    return `${this.time(at)}: ${count(seen.outstanding[at])} in flight, `
      + `${count(seen.lost[at])} lost, ${count(seen.late[at])} late`;
  }

  time(at) {
    return moment(new Date(this.history.times[at] * 1000), new Date());
  }
}

function latencyLines(colour) {
  return [
    { stroke: colour("median"), width: 2, points: { size: 4 } },
    { stroke: colour("p99"), width: 1.5, dash: [5, 3], points: { size: 4 } },
    {
      stroke: colour("worst"),
      paths: () => null,
      points: { show: true, size: 3.5, fill: colour("worst") },
    },
  ];
}

function probeLines(colour) {
  return [
    {
      stroke: colour("outstanding"),
      fill: tint(colour("outstanding"), 0.14),
      width: 1.5,
      paths: uPlot.paths.stepped({ align: 1 }),
      points: { show: false },
    },
    {
      scale: "lost",
      stroke: colour("lost"),
      fill: colour("lost"),
      paths: uPlot.paths.bars({ size: [0.7, 14, 2], align: 1 }),
      points: { show: false },
    },
  ];
}

function probeScale() {
  const whole = (plot, values) =>
    values.map((value) => (Number.isInteger(value) ? count(value) : ""));
  return {
    scale: {
      range: (plot, low, high) => [0, Math.max(FEW_PROBES, (high ?? 0) * 1.1)],
    },
    axis: { values: whole },
  };
}

/** From zero, unless something is below it. */
function around(low, high) {
  if (low === null || high === null) return NOTHING_SEEN;
  return [Math.min(0, low * 1.1), Math.max(high * 1.1, 0.001)];
}

/** Labels of a log scale: decades, or finer ones where those are too few. */
function roundDurations(plot, axis, low, high) {
  const within = (list) => list.filter((at) => at >= low && at <= high);
  const coarse = within(DECADES);
  return coarse.length >= FEW_LABELS ? coarse : within(FINER);
}
