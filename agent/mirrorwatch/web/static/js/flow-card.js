// Everything about one flow.

import { Checks } from "./checks.js";
import { setText } from "./dom.js";
import { Figures } from "./figures.js";
import { FlowCharts } from "./flow-charts.js";
import { age, counted, moment, since } from "./format.js";
import { severity, showBadge } from "./health.js";
import { FlowHistory } from "./history.js";
import { headline } from "./loss.js";
import { Parts } from "./parts.js";
import { showStrip } from "./strip.js";
import { showHistoryTable, showLosses, showPartitions } from "./tables.js";
import { Topics } from "./topics.js";

/** Returns until when the target is complete, and what waits. */
function recovery(flow, now) {
  const { rpo, complete_until: until, lost } = flow;
  if (until === null && rpo.records === null) return "";
  const but = lost?.exception ? `, ${lost.exception}` : "";
  const complete = until === null ? `Not known to be complete at ${flow.target}`
    : `Complete at ${flow.target} until ${moment(new Date(until), now)}${but}`;
  if (rpo.records === null || rpo.seconds === 0) return complete;
  const old = rpo.seconds === null ? "" : `, up to ${age(rpo.seconds)} old,`;
  return `${complete} · ${counted(rpo.records, "record")}${old} not proved to be there`;
}

export class FlowCard {
  constructor(flow, id) {
    const template = document.getElementById("flow-template");
    this.element = template.content.cloneNode(true).firstElementChild;
    this.element.id = id;
    this.element.dataset.flow = flow.name;
    this.history = new FlowHistory(flow.name);
    this.charts = new FlowCharts(this.element, this.history);
    this.checks = new Checks(this.element);
    this.topics = new Topics(this.element, flow.name);
    this.parts = new Parts(this.element, flow);
    this.figures = new Figures(this.element);
    this.flow = flow;
    for (const fold of this.element.querySelectorAll("details.fold")) {
      fold.addEventListener("toggle", () => {
        this.showTables();
        showHistoryTable(this.element, this.history, this.now);
      });
    }
  }

  find(selector) {
    return this.element.querySelector(selector);
  }

  /** Shows what the last status said. `isLive` is false when it is old. */
  show(flow, now, isLive) {
    this.flow = flow;
    this.now = now;
    this.isLive = isLive;
    setText(this.find(".source"), flow.source);
    setText(this.find(".target"), flow.target);
    const usual = `${flow.source}->${flow.target}`;
    setText(this.find(".alias"), flow.name === usual ? "" : flow.name);
    const health = isLive ? flow.health : "unknown";
    this.element.dataset.health = health;
    this.element.classList.toggle("stale", !isLive);
    showBadge(this.find(".flow-health"), health);
    this.showCause(now, isLive);
    this.showLead(now, isLive);
    setText(this.find(".lead-recovery"), recovery(flow, now));
    this.checks.show(flow.verdicts, now);
    this.figures.show(flow.canary, this.history, now);
    this.showTables();
  }

  /** Names the part at fault; nothing where none stands out. */
  showCause(now, isLive) {
    const cause = this.flow.cause;
    this.find(".cause").hidden = cause === null;
    this.find(".cause-seen").hidden = cause === null;
    if (cause === null) return;
    const was = isLive ? "Cause" : "Last known cause";
    setText(this.find(".cause-part"), `${was}: ${cause.part}, ${since(cause.since, now)}.`);
    setText(this.find(".cause-reason"), sentence(cause.reason));
    this.find(".cause-help").href = cause.runbook.slice(1);
    setText(this.find(".cause-seen"), `Seen: ${cause.evidence.join("; ")}.`);
  }

  showLead(now, isLive) {
    const [lead, more] = leads(this.flow);
    const told = lead === null ? "No check of this flow has a result yet."
      : `${sentence(lead.reason)}`;
    const last = lead?.health ?? "unknown";
    setText(this.find(".lead"), isLive ? told : `Last known (${last}): ${told}`);
    const words = lead === null ? []
      : [`${lead.check} ${lead.health} ${since(lead.since, now)}`];
    if (more.length) {
      words.push(`also ${more.map((v) => `${v.check} ${v.health}`).join(", ")}`);
    }
    setText(this.find(".lead-words"), words.join(" · "));
    const help = this.find(".lead-help");
    help.hidden = lead === null || severity(lead.health) <= severity("ok");
    if (!help.hidden) help.href = lead.runbook.slice(1);
  }

  /** Shows what was last told of its topics; nothing if that was nothing. */
  showTopics(seen, now, staleAfter) {
    setText(this.find(".lead-topics"), headline(seen, now, staleAfter));
    this.topics.show(seen, this.flow.verdicts, now, staleAfter);
  }

  /** Shows what was last told behind its verdicts. */
  showDetails(seen, now, staleAfter) {
    // Nobody knows how it is by now.
    const verdicts = this.isLive ? this.flow.verdicts
      : this.flow.verdicts.map((verdict) => ({ ...verdict, health: "unknown" }));
    this.parts.show(seen, verdicts, now, staleAfter);
  }

  async showHistory(range, now) {
    try {
      await this.history.update(range, now.getTime() / 1000);
    } catch (error) {
      // The agent answers about its verdicts: only the charts stay old.
      console.warn(`No answer about the history: ${error.message}`);
      this.history.keepOnly(range);
    }
    this.drawHistory(range, now);
    this.figures.show(this.flow.canary, this.history, now);
    showHistoryTable(this.element, this.history, now);
  }

  /** Draws up to now, also when there is nothing new: the gap is shown. */
  drawHistory(range, now) {
    const end = now.getTime() / 1000;
    const window = [end - range.seconds, end];
    setText(this.find(".range-text"), `over the last ${range.words}`);
    showStrip(this.find(".strip"), this.history, window);
    this.charts.show(window);
  }

  showTables() {
    showPartitions(this.element, this.flow.canary, this.now);
    showLosses(this.element, this.flow.canary, this.now);
  }
}

/** The verdict that leads, and the others that are not fine. */
function leads(flow) {
  const lead = flow.verdicts.find((v) => v.check === flow.lead) ?? null;
  const more = flow.verdicts.filter((v) => v !== lead
    && v.health !== "off" && severity(v.health) > severity("ok"));
  return [lead, more];
}

function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
