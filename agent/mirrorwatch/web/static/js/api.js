// Asks the agent. An answer that does not come in time is none.

const PATIENCE_MS = 5000;

async function ask(address) {
  const response = await fetch(address, {
    cache: "no-store",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  // 503 is an answer too: the agent has not made a report yet.
  if (!response.ok && response.status !== 503) {
    throw new Error(`The agent answered ${response.status}`);
  }
  return response.json();
}

export async function askStatus() {
  const status = await ask("api/status");
  if (!Array.isArray(status.flows)) throw new Error("Not a status");
  return status;
}

export async function askTopics(wanted) {
  const found = await ask(`api/topics?${new URLSearchParams(wanted)}`);
  if (!Array.isArray(found.flows)) throw new Error(found.error);
  return found;
}

export async function askHistory(flow, from, to, points) {
  const query = new URLSearchParams({ flow, from, to, points });
  const history = await ask(`api/history?${query}`);
  if (!Array.isArray(history.at_unix_seconds)) throw new Error(history.error);
  return history;
}

export async function askDetails() {
  const found = await ask("api/details");
  if (!Array.isArray(found.flows)) throw new Error(found.error);
  return found;
}

export async function askAudits() {
  const found = await ask("api/audits");
  if (!Array.isArray(found.nights)) throw new Error(found.error);
  return found;
}

export async function askEvents() {
  const found = await ask("api/events");
  if (!Array.isArray(found.events)) throw new Error(found.error);
  return found.events;
}
