// In sentences: how late a flow's topics are, and how long until loss.

import { age, count, counted, waited } from "./format.js";

// Less than this share of what is kept is gone: the time runs already.
const RUNNING = 0.99;

/** The line that answers at a glance, below the flow's verdict. */
export function headline(seen) {
  if (seen === undefined) return "";
  if (seen.observed_at === null) return "Its topics are not surveyed yet.";
  const words = [lateness(seen)];
  const gone = missing(seen.totals);
  if (gone) words.push(`${count(gone)} ${records(gone)} missing`);
  if (seen.unknown_partitions) {
    words.push(`${counted(seen.unknown_partitions, "partition")} not known`);
  }
  if (seen.time_to_loss) words.push(shortLoss(seen));
  return words.join(" · ");
}

function lateness({ topics, totals, unknown_partitions: unknown, problems }) {
  const late = topics.find((topic) => topic.notable && topic.lag_records > 0);
  if (totals.topics === 0) return "No topics yet";
  if (late) {
    const all = `${count(totals.topics_behind)} of ${counted(totals.topics, "topic")}`;
    return `${all} behind, the oldest record waits `
      + `${waited(late.lag_seconds)} (${late.topic})`;
  }
  return unknown || problems.length ? "No topic is known to be late"
    : `${count(totals.topics)} ${totals.topics === 1 ? "topic keeps" : "topics keep"} up`;
}

function shortLoss({ time_to_loss: first, waiting_time_to_loss: waiting }) {
  const isRunning = waiting && waiting.share < RUNNING;
  const next = isRunning ? waiting : first;
  if (isOver(next)) return "records that wait may be deleted any moment";
  return isRunning ? `what waits is lost in ${about(next)}`
    : `${about(next)} until loss, were the mirror to stop now`;
}

/** The time itself, in large. */
export function lossTime({ time_to_loss: first }) {
  if (!first) return "Not known";
  return isOver(first) ? "Now" : about(first);
}

/** What the time means, or why there is none. */
export function lossWords({ time_to_loss: first, ...seen }) {
  if (first) {
    return isOver(first)
      ? "records that wait are past what the source keeps, and may be deleted at any moment"
      : "until records are lost for good, were the mirror to stop now";
  }
  if (seen.observed_at === null) return "how long until records are lost";
  return seen.retention_known
    ? "when records would be lost: no topic says how long it is kept, or all are kept for ever"
    : "how long the source keeps its records";
}

/** Which topic loses first, and whether it catches up before. */
export function moreWords({ time_to_loss: first, waiting_time_to_loss: waiting }) {
  if (!first) return "";
  const how = first.estimated
    ? " (estimated from the size of its log and the rate of writing)" : "";
  const others = first.others_alike
    ? ` and ${counted(first.others_alike, "other")} alike` : "";
  const words = [`First to lose: ${first.topic}${others}${how}.`];
  if (waiting && waiting.topic !== first.topic && waiting.share < RUNNING) {
    words.push(`Of what waits already: ${waiting.topic}, in `
      + `${about(waiting)}.`);
  }
  const late = waiting ?? first;
  if (late.lag_records && late.share < RUNNING) {
    words.push(late.drain_seconds === null
      ? "What waits there does not get less."
      : `As fast as now it has caught up in ${age(late.drain_seconds)}.`);
  }
  return words.join(" ");
}

/** Records proved skipped and not copied since; null if not known. */
export function missing({ skipped_records: skipped, recovered_records: recovered }) {
  return skipped === null ? null : skipped - (recovered ?? 0);
}

const isOver = ({ seconds }) => Math.round(seconds) <= 0;

const records = (number) => (number === 1 ? "record is" : "records are");

function about({ seconds, estimated }) {
  return `${estimated ? "about " : ""}${age(seconds)}`;
}
