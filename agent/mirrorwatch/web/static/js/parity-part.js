// What the target lacks, or has otherwise than the source.

import { el, setText } from "./dom.js";
import { FactTable, NONE } from "./fact-table.js";
import { age, count, counted } from "./format.js";
import { Part, asOf, more, showBlock, titled } from "./part.js";

const LISTS = [
  ["not_wanted", "Excluded by MirrorMaker's topic filter"],
  ["came_round", "Replication loops"],
  ["replication", "Different replication factor"],
  ["only_at_target", "Only at the target"],
  ["missing_subjects", "Subjects missing in the target's schema registry"],
];

export class ParityPart {
  constructor(card, flow) {
    this.part = new Part(card, "parity", "Parity");
    this.now = new Date();
    const lasting = ["For", (item) => lasts(item.since, this.now), "number"];
    this.blocks = [
      this.block("missing", "Missing at the target", [
        ["Topic", (t) => t.topic, "name"],
        ["Name at the target", (t) => t.remote_topic, "name"],
        lasting,
        ["State", missingState, "text"],
      ], (t) => t.topic),
      this.block("partitions", "Different partition counts", [
        ["Topic", (t) => t.topic, "name"],
        [`At ${flow.source}`, (t) => count(t.source), "number"],
        [`At ${flow.target}`, (t) => count(t.target), "number"],
        lasting,
        ["State", state, "text"],
      ], (t) => t.topic),
      this.block("drifts", "Different configs that affect replication", [
        ["Topic", (t) => t.topic, "name"],
        ["Property", (t) => t.property, "text"],
        [`At ${flow.source}`, (t) => setting(t.property, t.source), "number"],
        [`At ${flow.target}`, (t) => setting(t.property, t.target), "number"],
        lasting,
        ["State", (t) => (t.by_default ? "broker default" : state(t)), "text"],
      ], (t) => `${t.topic} ${t.property}`),
      this.block("schemas", "Schemas that consumers at the target cannot resolve", [
        ["Topic", (t) => t.topic, "name"],
        ["Part", (t) => t.part, "text"],
        ["Schema", (t) => t.schema, "text"],
        lasting,
        ["State", (t) => SCHEMA[t.state] ?? t.state, "text"],
      ], (t) => `${t.topic} ${t.part} ${t.schema}`),
      this.block("told", "Other different configs", [
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

  show(facts, verdicts, now, staleAfter) {
    this.now = now;
    const { parity, configs, schemas } = facts ?? {};
    const judged = verdicts.filter((v) => ["topics", "configs", "schemas"].includes(v.check));
    const told = [words(parity, configs, now, staleAfter), schemaWords(schemas)];
    this.part.tell(told.filter(Boolean).join(" · "), judged);
    const seen = { ...parity, ...configs, ...schemas };
    for (const { name, table, rest, block } of this.blocks) {
      const items = seen[name] ?? [];
      table.show(items);
      setText(rest, more(seen[`${name}_total`] ?? 0, items));
      showBlock(block, items.length > 0);
    }
    for (const { name, names, block } of this.lists) {
      const { total, topics } = parity?.[name] ?? schemas?.[name] ?? { total: 0, topics: [] };
      setText(names, [topics.join(", "), more(total, topics)].filter(Boolean).join(" "));
      showBlock(block, total > 0);
    }
    setText(this.note, note(parity, configs, schemas));
  }
}

function words(parity, configs, now, staleAfter) {
  const told = [];
  if (!parity) told.push("topics not compared yet");
  else {
    told.push(counted(parity.carried, "topic"));
    if (!parity.known) told.push("a cluster does not answer");
    told.push(...[
      [parity.missing_total, isMissing(parity) ? "missing" : "not created yet"],
      [parity.partitions_total, "with different partitions"],
      [parity.not_wanted.total, "excluded by MirrorMaker"],
      [parity.came_round.total, "in a replication loop"],
    ].filter(([number]) => number).map(([number, what]) => `${count(number)} ${what}`));
    if (told.length === 1) told.push("all present with matching partitions");
    told.push(asOf(parity.observed_at, now, staleAfter));
  }
  if (!configs) told.push("configs not compared");
  else if (!configs.fresh) told.push("configs not read recently");
  else if (configs.drifts_total) {
    const differ = configs.drifts_total === 1 ? "differs" : "differ";
    told.push(`${counted(configs.drifts_total, "config")} ${differ}`);
  } else told.push("configs match");
  return told.filter(Boolean).join(" · ");
}

const SCHEMA = {
  missing: "missing at the target",
  different: "another schema at the target",
  neither: "in neither registry",
};

function schemaWords(schemas) {
  if (!schemas) return "";
  if (!schemas.known) return "schemas not read yet";
  if (schemas.schemas_total) return `${counted(schemas.schemas_total, "schema")} cannot be resolved`;
  if (!schemas.topics_with_schemas) return "no schemas in records";
  return `${counted(schemas.resolved, "schema")} resolved`;
}

function note(parity, configs, schemas) {
  const told = [];
  if (parity) {
    told.push(`MirrorMaker refreshes topics every ${age(parity.refresh_seconds)}.`);
  }
  if (configs) told.push(`Configs of ${counted(configs.compared, "topic")} compared.`);
  const problems = [parity, configs, schemas].flatMap((facts) => facts?.problems ?? []);
  for (const problem of problems) {
    told.push(`${problem}.`);
  }
  return told.join(" ");
}

/** The oldest comes first: while it has time, all of them have. */
const isMissing = ({ missing: [oldest] }) => oldest?.overdue || oldest?.hidden;

function missingState(topic) {
  if (topic.hidden) return "hidden from mirrorwatch at the target";
  return topic.overdue ? "overdue" : "new, not due yet";
}

/** A value as it is set, and how long that is. */
function setting(property, value) {
  const number = Number(value);
  if (!property.endsWith(".ms") || !Number.isFinite(number) || number < 1000) return value;
  return `${value} (${age(number / 1000)})`;
}

const state = (item) => (item.overdue ? "overdue" : "not due yet");

const lasts = (since, now) =>
  (since === null ? NONE : age((now - new Date(since)) / 1000));
