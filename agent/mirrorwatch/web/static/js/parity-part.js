// What the target lacks, or has otherwise than the source.

import { el, setText } from "./dom.js";
import { FactTable, NONE } from "./fact-table.js";
import { age, count, counted } from "./format.js";
import { Part, asOf, more, showBlock, titled } from "./part.js";

const LISTS = [
  ["not_wanted", "Not wanted by the mirror's own filter"],
  ["came_round", "Came round to where they began"],
  ["replication", "With another replication factor"],
  ["only_at_target", "Only at the target"],
];

export class ParityPart {
  constructor(card, flow) {
    this.part = new Part(card, "parity", "Parity");
    this.now = new Date();
    const lasting = ["For", (item) => lasts(item.since, this.now), "number"];
    this.blocks = [
      this.block("missing", "Missing at the target", [
        ["Topic", (t) => t.topic, "name"],
        ["There called", (t) => t.remote_topic, "name"],
        lasting,
        ["State", missingState, "text"],
      ], (t) => t.topic),
      this.block("partitions", "With another number of partitions", [
        ["Topic", (t) => t.topic, "name"],
        [`At ${flow.source}`, (t) => count(t.source), "number"],
        [`At ${flow.target}`, (t) => count(t.target), "number"],
        lasting,
        ["State", state, "text"],
      ], (t) => t.topic),
      this.block("drifts", "Configured otherwise, where it matters", [
        ["Topic", (t) => t.topic, "name"],
        ["Property", (t) => t.property, "text"],
        [`At ${flow.source}`, (t) => setting(t.property, t.source), "number"],
        [`At ${flow.target}`, (t) => setting(t.property, t.target), "number"],
        lasting,
        ["State", (t) => (t.by_default ? "by the brokers' defaults" : state(t)), "text"],
      ], (t) => `${t.topic} ${t.property}`),
      this.block("told", "Configured otherwise, and a site's own affair", [
        ["Topic", (t) => t.topic, "name"],
        ["Property", (t) => t.property, "text"],
        [`At ${flow.source}`, (t) => setting(t.property, t.source), "number"],
        [`At ${flow.target}`, (t) => setting(t.property, t.target), "number"],
      ], (t) => `${t.topic} ${t.property}`),
    ];
    this.lists = LISTS.map(([name, title]) => {
      const names = el("p", { class: "names" });
      const block = titled(title, names);
      this.part.body.append(block);
      return { name, names, block };
    });
    this.note = el("p", { class: "part-note" });
    this.part.body.prepend(this.note);
  }

  block(name, title, columns, key) {
    const table = new FactTable(title, columns, key);
    const rest = el("p", { class: "part-note" });
    const block = titled(title, table.element, rest);
    this.part.body.append(block);
    return { name, table, rest, block };
  }

  show(parity, configs, verdicts, now, staleAfter) {
    this.now = now;
    const judged = verdicts.filter((v) => ["topics", "configs"].includes(v.check));
    this.part.tell(words(parity, configs, now, staleAfter), judged);
    const seen = { ...parity, ...configs };
    for (const { name, table, rest, block } of this.blocks) {
      const items = seen[name] ?? [];
      table.show(items);
      setText(rest, more(seen[`${name}_total`] ?? 0, items));
      showBlock(block, items.length > 0);
    }
    for (const { name, names, block } of this.lists) {
      const { total, topics } = parity?.[name] ?? { total: 0, topics: [] };
      setText(names, [topics.join(", "), more(total, topics)].filter(Boolean).join(" "));
      showBlock(block, total > 0);
    }
    setText(this.note, note(parity, configs));
  }
}

function words(parity, configs, now, staleAfter) {
  const told = [];
  if (!parity) told.push("topics not compared yet");
  else {
    told.push(counted(parity.carried, "topic"));
    if (!parity.known) told.push("one side does not answer");
    told.push(...[
      [parity.missing_total, isMissing(parity) ? "missing" : "not there yet"],
      [parity.partitions_total, "with other partitions"],
      [parity.not_wanted.total, "not wanted by the mirror"],
      [parity.came_round.total, "came round"],
    ].filter(([number]) => number).map(([number, what]) => `${count(number)} ${what}`));
    if (told.length === 1) told.push("all there, divided alike");
    told.push(asOf(parity.observed_at, now, staleAfter));
  }
  if (!configs) told.push("configurations not compared");
  else if (!configs.fresh) told.push("configurations not read lately");
  else if (configs.drifts_total) {
    const differ = configs.drifts_total === 1 ? "differs" : "differ";
    told.push(`${counted(configs.drifts_total, "setting")} ${differ}`);
  } else told.push("configured alike");
  return told.filter(Boolean).join(" · ");
}

function note(parity, configs) {
  const told = [];
  if (parity) {
    told.push(`The mirror looks for new topics every ${age(parity.refresh_seconds)}.`);
  }
  if (configs) told.push(`Configurations compared: of ${counted(configs.compared, "topic")}.`);
  for (const problem of [...(parity?.problems ?? []), ...(configs?.problems ?? [])]) {
    told.push(`${problem}.`);
  }
  return told.join(" ");
}

/** The oldest comes first: while it has time, all of them have. */
const isMissing = ({ missing: [oldest] }) => oldest?.overdue || oldest?.hidden;

function missingState(topic) {
  if (topic.hidden) return "the agent may not see it there";
  return topic.overdue ? "overdue" : "new: the mirror has time yet";
}

/** A value as it is set, and how long that is. */
function setting(property, value) {
  const number = Number(value);
  if (!property.endsWith(".ms") || !Number.isFinite(number) || number < 1000) return value;
  return `${value} (${age(number / 1000)})`;
}

const state = (item) => (item.overdue ? "overdue" : "the mirror has time yet");

const lasts = (since, now) =>
  (since === null ? NONE : age((now - new Date(since)) / 1000));
