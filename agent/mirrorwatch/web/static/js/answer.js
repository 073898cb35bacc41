// The first line: is it arriving?

import { el, setText } from "./dom.js";
import { age, duration } from "./format.js";
import { badge, severity, showBadge, worst } from "./health.js";

const place = (id) => document.getElementById(id);

/** Says in one sentence how replication is; returns the health. */
export function showAnswer(status, link) {
  const health = link === "live"
    ? worst(status.flows.map((flow) => flow.health)) : "unknown";
  const answer = place("answer");
  answer.dataset.health = health;
  answer.querySelector("use").setAttribute("href", `#icon-${health}`);
  const [line, detail] = words(status, link, health);
  setText(place("answer-line"), line);
  setText(place("answer-detail"), detail);
  document.title = `${health}: ${line} · mirrorwatch`;
  const icon = `static/icons/${health}.svg`;
  const favicon = place("favicon");
  if (favicon.getAttribute("href") !== icon) favicon.setAttribute("href", icon);
  return health;
}

function words(status, link, health) {
  if (status === null || link === "starting") {
    return ["Waiting for the first report", "mirrorwatch has just started."];
  }
  if (link !== "live") {
    return ["Cannot verify whether records arrive",
      "The last known state is shown below."];
  }
  const flows = status.flows;
  if (flows.length === 0) return ["No flow is configured", ""];
  const bad = flows.filter((flow) => severity(flow.health) > severity("ok"));
  if (bad.length === 0) {
    if (health === "off") return ["All checks are off", "No check is configured."];
    const all = flows.length === 1 ? title(flows[0]) : `${flows.length} flows`;
    return [`${all}: replication is healthy`, typical(flows)];
  }
  const [first] = bad.filter((flow) => flow.health === health);
  const one = bad.length === 1;
  const subject = one ? title(first) : `${bad.length} of ${flows.length} flows`;
  const verb = {
    critical: one ? "is critical" : "are critical",
    warning: one ? "has a warning" : "have warnings",
    unknown: "cannot be verified",
  }[health];
  const [line, why] = [`${subject} ${verb}`, first.headline ?? ""];
  return one ? [why, line] : [line, why];
}

/** The pair, or the name that somebody gave the flow. */
export function title({ name, source, target }) {
  return name === `${source}->${target}` ? `${source} → ${target}` : name;
}

function typical(flows) {
  const slowest = flows
    .map((flow) => flow.canary?.last_5_minutes)
    .filter((recent) => recent && recent.latency_p99_seconds !== null)
    .sort((a, b) => b.latency_p99_seconds - a.latency_p99_seconds)[0];
  if (!slowest) return "";
  const which = flows.length === 1 ? "Latency" : "Latency of the slowest flow";
  return `${which}: median ${duration(slowest.latency_median_seconds)}, `
    + `p99 ${duration(slowest.latency_p99_seconds)} `
    + "over the last 5 minutes.";
}

/** A line for each flow, when there are several. */
export function showOverview(flows, cards, isLive) {
  const nav = place("overview");
  nav.hidden = flows.length < 2;
  const list = nav.querySelector("ul");
  flows.forEach((flow, at) => {
    const item = list.children[at] ?? list.appendChild(
      el("li", {}, el("a", {}, el("span", { class: "mark" }), el("span"))));
    const link = item.firstElementChild;
    link.href = `#${cards.get(flow.name).element.id}`;
    showBadge(link.firstElementChild, isLive ? flow.health : "unknown");
    setText(link.lastElementChild, title(flow));
  });
  while (list.children.length > flows.length) list.lastElementChild.remove();
}

/** What the connection to the agent is like, at the top and in the banner. */
export function showLink(link, seconds, failedAt) {
  document.documentElement.dataset.link = link;
  const old = seconds === null
    ? "" : `The data is ${age(seconds)} old and may be outdated.`;
  const [short, long, counted] = {
    live: [`Live, report ${age(seconds)} old`, "", ""],
    starting: ["mirrorwatch is starting", "", ""],
    stale: [`Report ${age(seconds)} old`,
      "mirrorwatch responds, but its reports are not updated. Check its log.",
      `The data is ${age(seconds)} old and may be outdated.`],
    unreachable: ["mirrorwatch does not respond",
      `mirrorwatch is unreachable since ${timeOfDay(failedAt)} UTC. Retrying.`,
      old],
  }[link];
  setText(place("fresh-text"), short);
  showBanner(link, long, counted);
}

/** An alert is read aloud when it changes: what counts up is left out. */
function showBanner(link, words, counted) {
  const banner = place("banner");
  if (banner.dataset.link !== link) {
    banner.dataset.link = link;
    banner.hidden = words === "";
    banner.replaceChildren(...(words ? [badge("unknown"),
      el("p", {}, words),
      el("p", { class: "counted", "aria-live": "off" })] : []));
  }
  const line = banner.querySelector(".counted");
  if (line) setText(line, counted);
}

function timeOfDay(date) {
  return date === null ? "" : date.toISOString().slice(11, 19);
}
