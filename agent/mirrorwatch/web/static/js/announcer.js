// Says aloud what changed, for those who do not see it.

const known = new Map();

export function announce(flows) {
  const changes = [];
  for (const flow of flows) {
    for (const verdict of flow.verdicts) {
      const key = `${flow.name} ${verdict.check}`;
      const before = known.get(key);
      known.set(key, verdict.health);
      if (before !== undefined && before !== verdict.health) {
        changes.push(`${key} is now ${verdict.health}: ${verdict.reason}`);
      }
    }
  }
  if (changes.length) {
    document.getElementById("announcer").textContent = changes.join(". ");
  }
}
