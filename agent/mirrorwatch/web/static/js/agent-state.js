// How the agent itself is doing: what it reads, where it writes, what waits.

import { setText } from "./dom.js";
import { FactTable } from "./fact-table.js";
import { count, counted, duration } from "./format.js";
import { showBadge } from "./health.js";

const table = new FactTable("Sources and sinks", [
  ["Name", (p) => p.name, "name"],
  ["Kind", (p) => p.kind, "text"],
  ["State", (p) => (p.isUp ? "up" : "down"), "text"],
  ["Queued points", (p) => count(p.spooled), "number"],
  ["Points lost", (p) => count(p.lost), "number"],
], (p) => `${p.kind} ${p.name}`);

export function showAgent(agent) {
  const fold = document.getElementById("agent");
  if (!table.element.isConnected) fold.append(table.element);
  const parts = [
    ...Object.entries(agent.sources_up).map(([name, isUp]) =>
      ({ name, isUp, kind: "source" })),
    ...Object.entries(agent.sinks_up).map(([name, isUp]) => ({
      name, isUp, kind: "sink",
      spooled: agent.spooled_points?.[name], lost: agent.lost_points?.[name],
    })),
  ].sort((a, b) => a.isUp - b.isUp);
  const down = parts.filter((part) => !part.isUp).map(({ name }) => name);
  const waiting = sum(agent.spooled_points);
  const lost = sum(agent.lost_points);
  const problems = agent.problems ?? [];
  const tick = agent.last_tick_seconds === null
    ? "" : `last tick took ${duration(agent.last_tick_seconds)}`;
  const words = [
    `mirrorwatch ${agent.version}`, tick,
    down.length ? `down: ${down.join(", ")}` : "",
    waiting ? `${counted(waiting, "point")} queued` : "",
    lost ? `${counted(lost, "point")} lost` : "",
    ...problems,
  ];
  setText(document.getElementById("agent-state"), words.filter(Boolean).join(" · "));
  const sign = document.getElementById("agent-health");
  sign.hidden = down.length === 0 && !lost && problems.length === 0;
  if (!sign.hidden) showBadge(sign, "warning");
  table.show(parts, (row, part) => {
    row.dataset.state = part.isUp ? "" : "down";
  });
}

const sum = (points) =>
  Object.values(points ?? {}).reduce((total, number) => total + number, 0);
