// One uPlot chart with a line of text that reads the values under the cursor.

/* global uPlot */

const HEIGHT = 176;
const MINUTE = 60;
const DAY = 86400;

/** A chart in a `.chart` section.
 *
 * `lines(colour)` returns uPlot's series without x; `y` its scale and axis
 * options, `more` those of a second one on the right; `read(index)` the words
 * for one point, `newest()` the index that is read while nobody points.
 */
export class Chart {
  constructor(section, { lines, bands, y, more, read, newest, sync }) {
    this.host = section.querySelector(".plot");
    this.readout = section.querySelector(".readout");
    this.options = { lines, bands, y, more, read, newest, sync };
    this.colour = (name) => resolve(section, name);
    this.window = [0, 1];
    this.data = null;
    this.plot = null;
    new ResizeObserver(() => this.resize()).observe(this.host);
    this.host.addEventListener("keydown", (event) => this.step(event));
    this.host.addEventListener("blur", () => this.readout.removeAttribute("aria-live"));
  }

  show(data, window) {
    this.data = data;
    this.window = window;
    if (this.plot === null) this.rebuild();
    else this.plot.setData(data);
    this.read(this.plot?.cursor.idx);
  }

  /** Draws anew: other colours or another scale. */
  rebuild() {
    this.plot?.destroy();
    this.plot = null;
    const width = this.host.clientWidth;
    if (this.data === null || width === 0) return;
    const { lines, bands, y, more, sync } = this.options;
    const second = more?.();
    const text = this.colour("text");
    const grid = { stroke: this.colour("grid"), width: 1 };
    const ticks = { show: false };
    const font = `11px ${getComputedStyle(this.host).fontFamily}`;
    const axis = { stroke: text, grid, ticks, font };
    this.plot = new uPlot({
      width,
      height: HEIGHT,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: {
        drag: { x: false, y: false },
        sync: { key: sync },
        points: { size: 7 },
      },
      scales: {
        x: { time: true, range: () => this.window },
        y: y().scale,
        ...(second && { [second.name]: second.scale }),
      },
      axes: [
        { ...axis, space: 64, size: 26, gap: 4, values: timeLabels },
        { ...axis, space: 28, size: 58, gap: 6, ...y().axis },
        ...(second?.show ? [{
          ...axis, ...second.axis, scale: second.name, side: 1, space: 28,
          size: 34, gap: 6, grid: { show: false },
          stroke: this.colour(second.name),
        }] : []),
      ],
      series: [{}, ...lines(this.colour)],
      bands: bands?.(this.colour) ?? [],
      hooks: { setCursor: [(plot) => this.read(plot.cursor.idx)] },
    }, this.data, this.host);
  }

  resize() {
    const width = this.host.clientWidth;
    if (width === 0 || this.data === null) return;
    if (this.plot === null) this.rebuild();
    else if (this.plot.width !== width) {
      this.plot.setSize({ width, height: HEIGHT });
    }
  }

  read(index) {
    const words = this.data === null || this.data[0].length === 0
      ? "No history yet" : this.options.read(index ?? this.options.newest());
    if (this.readout.textContent !== words) this.readout.textContent = words;
  }

  step(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move === undefined || this.plot === null) return;
    event.preventDefault();
    // Read aloud only what was asked for, not every refresh.
    this.readout.setAttribute("aria-live", "polite");
    const last = this.data[0].length - 1;
    const from = this.plot.cursor.idx ?? last + 1;
    const to = Math.min(last, Math.max(0, from + move));
    const left = this.plot.valToPos(this.data[0][to], "x");
    this.plot.setCursor({ left, top: HEIGHT / 3 });
  }
}

/** Colours of CSS as a canvas takes them, for this theme. */
function resolve(section, name) {
  const probe = section.querySelector(`.key.${name}`) ?? section;
  const property = name === "grid" ? "border-top-color"
    : name === "text" ? "caret-color" : "color";
  return getComputedStyle(probe).getPropertyValue(property);
}

/** The same colour, thinner. */
export function tint(colour, alpha) {
  return colour.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
}

function timeLabels(plot, splits, axis, space, increment) {
  return splits.map((at) => {
    const iso = new Date(at * 1000).toISOString();
    if (increment >= DAY || at % DAY === 0) return iso.slice(5, 10);
    return increment < MINUTE ? iso.slice(11, 19) : iso.slice(11, 16);
  });
}
