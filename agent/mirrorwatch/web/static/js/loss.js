// In sentences: how late a flow's topics are, and how long until loss.

import { age, count, counted, waited } from "./format.js";
import { asOf } from "./part.js";

// Less than this share of what is kept is gone: the time runs already.
const RUNNING = 0.99;

/** The line that answers at a glance, below the flow's verdict. It begins with
    its age, once that is more than a few ticks. */
export function headline(seen, now, staleAfter) {
  if (seen === undefined) return "";
  if (seen.observed_at === null) return `Lag unknown: ${notListed(seen).join(" · ")}`;
  const old = asOf(seen.observed_at, now, staleAfter);
  const words = [lateness(seen)];
  if (seen.unknown_partitions) {
    words.push(`${counted(seen.unknown_partitions, "partition")} unknown`);
  }
  if (seen.time_to_loss) words.push(shortLoss(seen, old));
  const told = words.join(" · ");
  return old ? `A${old.slice(1)}: ${told}` : told;
}

/** Why nothing is known of any topic. */
export const notListed = ({ problems }) =>
  (problems.length ? problems : ["topics not listed yet"]);

function lateness({ topics, totals, unknown_partitions: unknown, problems }) {
  const late = topics.find((topic) => topic.notable && topic.lag_records > 0);
  if (totals.topics === 0) return "No topics yet";
  if (late) {
    const all = `${count(totals.topics_behind)} of ${counted(totals.topics, "topic")}`;
    const bound = totals.lag_seconds_at_least ? "at least " : "";
    return `${all} with lag, oldest record `
      + `${bound}${waited(late.lag_seconds)} old (${late.topic})`;
  }
  return unknown || problems.length ? "No topic is known to have lag"
    : `no lag on ${counted(totals.topics, "topic")}`;
}

function shortLoss({ time_to_loss: first, waiting_time_to_loss: waiting }, old) {
  const isRunning = waiting && waiting.share < RUNNING;
  const next = isRunning ? waiting : first;
  if (isOver(next)) return "records that are not copied may expire at any moment";
  return isRunning ? `records that are not copied expire in ${about(next)}`
    : `${about(next)} until loss if replication ${old ? "stopped then" : "stops now"}`;
}

/** The time itself, in large. */
export function lossTime({ time_to_loss: first }) {
  if (!first) return "Unknown";
  return isOver(first) ? "Now" : about(first);
}

/** What the time means, or why there is none. */
export function lossWords({ time_to_loss: first, ...seen }) {
  if (first) {
    return isOver(first)
      ? "records that are not copied are beyond the source's retention, and may be deleted at any moment"
      : "until records are lost, if replication stops now";
  }
  if (seen.observed_at === null) return "time until records are lost";
  return seen.retention_known
    ? "time until records are lost: no topic has a known retention, or all are retained forever"
    : "retention at the source";
}

/** Which topic loses first, and whether it catches up before. */
export function moreWords({ time_to_loss: first, waiting_time_to_loss: waiting }) {
  if (!first) return "";
  const how = first.estimated
    ? " (estimated from its log size and produce rate)" : "";
  const others = first.others_alike
    ? ` and ${counted(first.others_alike, "other")}` : "";
  const words = [`First topic to lose records: ${first.topic}${others}${how}.`];
  if (waiting && waiting.topic !== first.topic && waiting.share < RUNNING) {
    words.push(`With lag already: ${waiting.topic}, in `
      + `${about(waiting)}.`);
  }
  const late = waiting ?? first;
  if (late.lag_records && late.share < RUNNING) {
    words.push(late.drain_seconds === null
      ? "Its lag is not shrinking."
      : `Its lag drains in ${age(late.drain_seconds)} at the current rate.`);
  }
  return words.join(" ");
}

const isOver = ({ seconds }) => Math.round(seconds) <= 0;

function about({ seconds, estimated }) {
  return `${estimated ? "about " : ""}${age(seconds)}`;
}
