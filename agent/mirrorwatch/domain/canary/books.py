"""The ledgers of all partitions of one flow, and what a survey changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..observations import Loss, Problem
from ..verdicts import Flow, Health
from .ledger import Ledger
from .losses import prove, settle
from .proof import Proof
from .survey import Doubt, Survey

__all__ = ["Books", "Identity"]


CROWDED = 600
"""Probes under way on a partition from which on fewer are sent: ten minutes'
worth at the default interval. That nothing arrives is known by then, and an
outage of days must fill neither memory nor the mirror's backlog."""

CROWDED_INTERVAL = timedelta(seconds=30)
"""How often a crowded partition gets a probe."""


@dataclass(slots=True)
class Identity:
    """What the clusters and topics were when the books were last written."""

    source_id: str | None = None
    """Topic id of the canary topic at the source."""

    target_id: str | None = None
    """Topic id of its copy at the target."""

    source_cluster: str | None = None
    """Cluster id of the source, pinned once seen."""

    target_cluster: str | None = None
    """Cluster id of the target, pinned once seen."""

    looked_at: datetime | None = None
    """When the agent last waited at the end of the target topic."""


@dataclass(kw_only=True, slots=True)
class Books:
    """Every ledger of one flow."""

    flow: Flow
    """The flow that is watched."""

    identity: Identity
    """What the clusters and topics were."""

    ledgers: dict[int, Ledger] = field(default_factory=dict)
    """Ledgers by partition."""

    warmup: timedelta
    """How long a new partition may go without arrivals."""

    partitions: int | None = None
    """Partitions to cover, `None` for all."""

    accepted: Mapping[str, str] = field(default_factory=dict)
    """Cluster ids that the configuration gives, by alias: they rule."""

    def follow(self, survey: Survey) -> set[int]:
        """Take over what a survey found.

        Returns
        -------
        set of int
            Partitions whose target must be read anew from `next_offset`.
        """
        unread = self._follow_target(survey)
        same_source = self._follow_source(survey)
        unread |= self._add_partitions(survey)
        if same_source:
            self._take_proofs(survey)
        for settled in survey.settlements:
            ledger = self.ledgers[settled.partition]
            if settled.source_offset is not None:
                ledger.ack(settled.sequence, settled.source_offset, None)
            elif settled.readable:
                ledger.fail(settled.sequence, survey.at)
            else:
                ledger.give_up(settled.sequence)
        return unread

    def mistaken(self, survey: Survey) -> Problem | None:
        """Say if an alias answers as another cluster than it should: the one
        that the configuration gives, else the one that it always was.
        """
        for alias, pinned, seen in (
            (
                self.flow.source,
                self.identity.source_cluster,
                survey.source_cluster,
            ),
            (
                self.flow.target,
                self.identity.target_cluster,
                survey.target_cluster,
            ),
        ):
            wanted = self.accepted.get(alias) or pinned
            if None not in (wanted, seen) and wanted != seen:
                return Problem(
                    Health.CRITICAL,
                    f"{alias} answers with cluster id {seen} and not "
                    f"{wanted}: does clusters.{alias}.kafka lead to the right "
                    "cluster? If another one has replaced it, set "
                    f"clusters.{alias}.cluster_id to the new id",
                )
        self.identity.source_cluster = (
            survey.source_cluster or self.identity.source_cluster
        )
        self.identity.target_cluster = (
            survey.target_cluster or self.identity.target_cluster
        )
        return None

    def settle(self, now: datetime, grace: timedelta | None) -> list[Loss]:
        """Give up what is proved lost on any partition."""
        return [
            loss
            for ledger in self.ledgers.values()
            for loss in settle(ledger, now, grace)
        ]

    def doubts(self) -> list[Doubt]:
        """Return the probes of which nobody knows if they were written."""
        return [
            Doubt(
                partition=ledger.partition,
                sequence=probe.sequence,
                floor=probe.floor,
                sent_at=probe.sent_at,
                current=probe.incarnation == ledger.incarnation,
            )
            for ledger in self.ledgers.values()
            for probe in ledger.outstanding.values()
            if probe.doubtful and probe.source_offset is None
        ]

    def due(self, survey: Survey, now: datetime) -> list[int]:
        """Return the partitions that get a probe now."""
        if survey.source is None:
            # Naming a topic that may not exist could create it.
            return []
        return [
            partition
            for partition, ledger in self.ledgers.items()
            if partition in survey.source.partitions and _is_due(ledger, now)
        ]

    def is_warming(self, ledger: Ledger, now: datetime) -> bool:
        """Tell whether the mirror may not know of a partition yet."""
        return (
            ledger.started_at is not None
            and ledger.last_arrival is None
            and now - ledger.started_at < self.warmup
        )

    def _follow_source(self, survey: Survey) -> bool:
        """Tell whether the source topic is still the same one."""
        if survey.source is None:
            return False
        before = self.identity.source_id
        self.identity.source_id = survey.source.id
        if before is not None and before != survey.source.id:
            for ledger in self.ledgers.values():
                ledger.renew_source()
        return before == survey.source.id

    def _follow_target(self, survey: Survey) -> set[int]:
        if survey.target is None:
            return set()
        before = self.identity.target_id
        self.identity.target_id = survey.target.id
        if before is None or before == survey.target.id:
            return set()
        for ledger in self.ledgers.values():
            ledger.skip_target(0)
        return self.ledgers.keys() & survey.target.partitions

    def _add_partitions(self, survey: Survey) -> set[int]:
        if survey.source is None:
            return set()
        first_of_all = not self.ledgers
        added = set()
        for partition in sorted(
            survey.source.partitions - self.ledgers.keys()
        ):
            if self.partitions is not None and partition >= self.partitions:
                break
            known = partition in survey.ends
            self.ledgers[partition] = Ledger(
                flow=self.flow.name,
                partition=partition,
                # A partition that was there on both sides when the agent was
                # first started is known to the mirror.
                started_at=None if first_of_all and known else survey.at,
                # No probe has been sent to it, so none is below.
                next_offset=survey.ends.get(partition, 0),
            )
            added.add(partition)
        return added

    def _take_proofs(self, survey: Survey) -> None:
        for partition, positions in survey.positions.items():
            ledger = self.ledgers.get(partition)
            end = survey.ends.get(partition)
            if ledger is None or end is None:
                continue
            for found in positions:
                proof = Proof(
                    origin=found.origin,
                    position=found.position,
                    seen_at=found.seen_at,
                    counts_at=found.counts_at,
                    end=end,
                    incarnation=ledger.incarnation,
                )
                prove(ledger, proof)


def _is_due(ledger: Ledger, now: datetime) -> bool:
    if len(ledger.outstanding) < CROWDED:
        return True
    newest = next(reversed(ledger.outstanding.values()))
    return now - newest.sent_at >= CROWDED_INTERVAL
