// One flow's history in the page: read once, then only what is new.

import { askHistory } from "./api.js";

const COLUMNS = [
  "at_unix_seconds", "latency_median_seconds", "latency_p99_seconds",
  "latency_worst_seconds", "outstanding", "delivered", "late", "lost",
  "duplicates", "health",
];

export class FlowHistory {
  constructor(flow) {
    this.flow = flow;
    this.range = null;
    this.step = null;
    this.columns = empty();
  }

  get times() {
    return this.columns.at_unix_seconds;
  }

  /** Brings the columns up to `now` (Unix seconds). */
  async update(range, now) {
    const isNew = range !== this.range;
    const last = this.times.at(-1);
    const missed = last === undefined ? Infinity : now - last;
    if (isNew || missed > range.seconds || missed < 0) {
      const end = Math.ceil(now);
      const all = await askHistory(
        this.flow, end - range.seconds, end, range.points);
      this.columns = take(all);
      this.step = all.step_seconds;
      this.range = range;
      return;
    }
    // The last point was not complete yet, so it is asked for again.
    const end = Math.floor(now / this.step) * this.step + this.step;
    const points = Math.max(1, Math.round((end - last) / this.step));
    const fresh = await askHistory(this.flow, last, end, points);
    if (fresh.step_seconds !== this.step) {
      this.range = null;
      await this.update(range, now);
      return;
    }
    const keep = this.times.filter((at) => at < last).length;
    const first = Math.floor((end - range.seconds) / this.step) * this.step;
    const drop = this.times.slice(0, keep).filter((at) => at < first).length;
    for (const name of COLUMNS) {
      this.columns[name] = this.columns[name].slice(drop, keep)
        .concat(fresh[name]);
    }
  }

  /** Forgets what is of another range: it would be shown as of this one. */
  keepOnly(range) {
    if (range === this.range) return;
    this.columns = empty();
    this.range = null;
  }

  /** The newest point with a tick in it; the last may just have begun. */
  newest() {
    const last = this.columns.health.findLastIndex((health) => health !== null);
    return Math.max(0, last);
  }

  /** A sum over the range; null if nothing of it is known. */
  total(name) {
    const known = this.columns[name].filter((value) => value !== null);
    return known.length
      ? known.reduce((sum, value) => sum + value, 0) : null;
  }
}

function empty() {
  return Object.fromEntries(COLUMNS.map((name) => [name, []]));
}

function take(document) {
  return Object.fromEntries(COLUMNS.map((name) => [name, document[name]]));
}
