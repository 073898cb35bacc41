// Numbers and times as a person reads them.

const NONE = "–";

/** A duration with two or three digits: 0.4 ms, 12 ms, 1.3 s, 4 min, 3 h. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "";
  if (size === 0) return "0 s";
  if (size < 0.001) return `${sign}${digits(size * 1e6)} µs`;
  if (size < 0.9995) return `${sign}${digits(size * 1e3)} ms`;
  if (size < 59.95) return `${sign}${digits(size)} s`;
  if (size < 3600) return `${sign}${clock(size, 60, "min", "s")}`;
  if (size < 86400) return `${sign}${clock(size / 60, 60, "h", "min")}`;
  return `${sign}${clock(size / 3600, 24, "d", "h")}`;
}

/** A duration in whole seconds, for what counts up while one looks. */
export function age(seconds) {
  if (seconds === null || Number.isNaN(seconds)) return NONE;
  return duration(Math.max(0, Math.round(seconds)));
}

/** An age of what waits, where less than a second is no news. */
export function waited(seconds) {
  return seconds < 1 ? "< 1 s" : age(seconds);
}

export function count(number) {
  return number === null || number === undefined
    ? NONE
    : number.toLocaleString("en-GB");
}

/** A number with its noun, of one as well as of many. */
export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Time of day, with the date when it is not today's. */
export function moment(date, now) {
  const iso = date.toISOString();
  const today = iso.slice(0, 10) === now.toISOString().slice(0, 10);
  return today ? iso.slice(11, 19) : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** `since` words: the time, and how long ago that is. */
export function since(text, now) {
  const date = new Date(text);
  return `since ${moment(date, now)} (${age((now - date) / 1000)})`;
}

function digits(number) {
  if (number >= 99.5) return number.toFixed(0);
  return String(Number(number.toPrecision(2)));
}

function clock(size, base, large, small) {
  const whole = Math.floor(Math.round(size) / base);
  const rest = Math.round(size) % base;
  return rest && whole < 10 ? `${whole} ${large} ${rest} ${small}` : `${whole} ${large}`;
}
