// What stands behind the verdicts that compare and list.

import { AuditPart } from "./audit-part.js";
import { FailoverPart } from "./failover-part.js";
import { ParityPart } from "./parity-part.js";
import { ReadersPart } from "./readers-part.js";
import { TasksPart } from "./tasks-part.js";

/** The part of the card in which a check's facts are listed. */
export const PART_OF = {
  lag: "topics",
  skips: "topics",
  retention: "topics",
  topics: "parity",
  configs: "parity",
  schemas: "parity",
  tasks: "tasks",
  readers: "readers",
  audit: "audit",
  failover: "failover",
};

export class Parts {
  constructor(card, flow) {
    this.tasks = new TasksPart(card);
    this.parity = new ParityPart(card, flow);
    this.failover = new FailoverPart(card, flow);
    this.readers = new ReadersPart(card, flow);
    this.audit = new AuditPart(card, flow);
    const parts = [this.tasks, this.parity, this.failover, this.readers, this.audit];
    card.querySelector(".parts").append(...parts.map(({ part }) => part.element));
  }

  /** Shows what was last told; `seen` is undefined while nothing was. */
  show(seen, verdicts, now, staleAfter) {
    this.tasks.show(seen?.tasks, verdicts, now, staleAfter);
    this.parity.show(seen, verdicts, now, staleAfter);
    this.failover.show(seen?.failover, verdicts, now, staleAfter);
    this.readers.show(seen?.readers, verdicts, now, staleAfter);
    this.audit.show(seen?.audit, verdicts, now);
  }
}
