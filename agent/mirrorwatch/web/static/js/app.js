// Asks the agent every tick and shows what it says; counts the age of what
// is shown every second, so that nothing old ever looks alive.

import { announce } from "./announcer.js";
import { showAnswer, showLink, showOverview } from "./answer.js";
import { showAgent } from "./agent-state.js";
import { askDetails, askEvents, askStatus, askTopics } from "./api.js";
import { showEvents } from "./events.js";
import { FlowCard } from "./flow-card.js";
import { showLost } from "./lost.js";
import { showMaintenance } from "./maintenance.js";
import { watchTheme } from "./theme.js";

const SECOND = 1000;
const RANGE_KEY = "mirrorwatch-range";
const TOPICS = { top: 10 };

const cards = new Map();
let status = null;
let topics = null;
let details = null;
let events = [];
let receivedAt = 0;
let failedAt = null;
let range = null;
let wanted = null;
let timer = null;
let isBusy = false;

/** The agent's clock; the browser's own may be wrong. */
function agentNow() {
  const said = Date.parse(status.agent.now);
  return new Date(said + performance.now() - receivedAt);
}

function ageSeconds() {
  if (!status?.at) return null;
  return (agentNow() - Date.parse(status.at)) / SECOND;
}

function linkState() {
  if (failedAt !== null) return "unreachable";
  if (!status?.at) return "starting";
  return Math.abs(ageSeconds()) < status.agent.stale_after_seconds
    ? "live" : "stale";
}

async function refresh() {
  if (isBusy) return;
  isBusy = true;
  clearTimeout(timer);
  try {
    [status, topics, details, events] = await Promise.all([
      askStatus(),
      latest(askTopics(TOPICS), topics),
      latest(askDetails(), details),
      latest(askEvents(), events),
    ]);
    receivedAt = performance.now();
    failedAt = null;
    show();
    announce(status.flows);
    await showMore();
  } catch (error) {
    failedAt ??= new Date();
    console.warn(`No answer: ${error.message}`);
    show();
  }
  isBusy = false;
  const isBehind = failedAt === null && wanted !== range;
  timer = setTimeout(refresh, isBehind ? 0 : pause());
}

/** What was asked for; the last of it again, which says its age, if there is
    no answer: the verdicts are told without it. */
async function latest(answer, before) {
  try {
    return await answer;
  } catch (error) {
    console.warn(`No answer about more than verdicts: ${error.message}`);
    return before;
  }
}

async function showMore() {
  range = wanted;
  for (const flow of status.flows) {
    const card = cards.get(flow.name);
    await card.showHistory(range, agentNow());
    await card.topics.table.refresh();
    await card.parts.audit.refresh();
  }
}

function pause() {
  const ticks = status?.agent.stale_after_seconds ?? 6;
  return Math.max(1, Math.min(10, ticks / 3)) * SECOND;
}

function show() {
  const link = linkState();
  showLink(link, ageSeconds(), failedAt);
  showAnswer(status, link);
  if (status === null) return;
  const place = document.getElementById("flows");
  const names = new Set(status.flows.map((flow) => flow.name));
  for (const [name, card] of cards) {
    if (names.has(name)) continue;
    card.element.remove();
    cards.delete(name);
  }
  status.flows.forEach((flow, at) => {
    if (!cards.has(flow.name)) {
      const card = new FlowCard(flow, `flow-${at}`);
      cards.set(flow.name, card);
      place.append(card.element);
    }
    const card = cards.get(flow.name);
    card.show(flow, agentNow(), link === "live");
    const seen = topics?.flows.find((found) => found.name === flow.name);
    card.showTopics(seen, agentNow(), status.agent.stale_after_seconds);
    const told = details?.flows.find((found) => found.name === flow.name);
    card.showDetails(told, agentNow(), status.agent.stale_after_seconds);
    if (link === "unreachable" && range) card.drawHistory(range, agentNow());
  });
  showLost(status.flows);
  showEvents(events, status.flows, agentNow());
  showOverview(status.flows, cards, link === "live");
  showMaintenance(status.maintenance ?? [], agentNow());
  showAgent(status.agent);
}

function watchRanges() {
  const buttons = [...document.querySelectorAll("#ranges button")];
  const choose = (button) => {
    wanted = {
      seconds: Number(button.dataset.seconds),
      points: Number(button.dataset.points),
      words: button.dataset.words,
    };
    for (const other of buttons) {
      other.setAttribute("aria-pressed", String(other === button));
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      choose(button);
      sessionStorage.setItem(RANGE_KEY, button.dataset.seconds);
      refresh();
    });
  }
  const kept = sessionStorage.getItem(RANGE_KEY);
  choose(buttons.find((b) => b.dataset.seconds === kept) ?? buttons[1]);
}

watchRanges();
watchTheme(document.getElementById("theme"), () => {
  for (const card of cards.values()) card.charts.recolour();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
setInterval(() => {
  if (status !== null || failedAt !== null) show();
}, SECOND);
refresh();
