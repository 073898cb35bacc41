"""Many small audits as one, a topic each: Spark is slow to begin."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from mirrorwatch.domain.audit.plan import Lane
from mirrorwatch.domain.audit.result import AuditFinding, TopicCount
from mirrorwatch_audit.compare.audit import audit
from mirrorwatch_audit.compare.digests import DigestComparison

from .logs import BUCKET, Logs, Record, make_lane, make_plan, millis

__all__ = ["Audited", "Cases", "records"]


def records(first: int, end: int) -> list[Record]:
    """Return records of which no two are equal, one each second."""
    return [
        Record(
            key=b"k%d" % (n % 3), value=b"v%d" % n, timestamp=millis(9999 - n)
        )
        for n in range(first, end)
    ]


class Cases:
    """Topics with what stands in them, and what is compared of them."""

    def __init__(self) -> None:
        self._logs: dict[str, tuple[Sequence[Record], Sequence[Record]]] = {}
        self._lanes: dict[str, list[Lane]] = {}

    def add(
        self,
        topic: str,
        source: Sequence[Record],
        target: Sequence[Record],
        *nights: dict[str, Any],
    ) -> str:
        """Add a topic; both logs begin at 0.

        Without nights everything is compared, and was copied.
        """
        whole = {
            "source": (0, len(source)),
            "target": (0, len(target)),
            "position": len(source),
        }
        self._logs[topic] = (source, target)
        self._lanes[topic] = [
            make_lane(**{**whole, **night}, topic=topic)
            for night in (nights or ({},))
        ]
        return topic

    def audit(self, session: SparkSession) -> list["Audited"]:
        """Audit all topics, night by night."""
        logs = Logs(session)
        for topic, (source, target) in self._logs.items():
            logs.write("source", source, topic=topic)
            logs.write("target", target, topic=topic)
        nights: list[Audited] = []
        carry: DataFrame | None = None
        for night in range(max(map(len, self._lanes.values()))):
            lanes = [
                of[night] for of in self._lanes.values() if night < len(of)
            ]
            result = audit(
                logs, make_plan(*lanes), bucket=BUCKET, carry=carry, keys=0
            )
            nights.append(Audited(result))
            carry = result.carry
        return nights


class Audited:
    """What one night found, by topic."""

    def __init__(self, comparison: DigestComparison) -> None:
        self._all = comparison
        self._carry = comparison.carry.collect()

    def findings(self, topic: str) -> list[AuditFinding]:
        return [f for f in self._all.findings if f.topic == topic]

    def found(self, topic: str) -> list[tuple[object, ...]]:
        return [
            (f.kind, f.count, f.source_offsets, f.target_offsets)
            for f in self.findings(topic)
        ]

    def stated(self, topic: str) -> dict[str, int]:
        return {s.kind: s.count for s in self._all.stated if s.topic == topic}

    def unverifiable(self, topic: str) -> list[int | None]:
        return [u.records for u in self._all.unverifiable if u.topic == topic]

    def topic(self, topic: str) -> TopicCount:
        (count,) = (c for c in self._all.topics if c.topic == topic)
        return count

    def counts(self, topic: str) -> tuple[int, int]:
        count = self.topic(topic)
        return count.source_count, count.target_count

    def carry(self, topic: str) -> list[tuple[str, int]]:
        """Return side and offset of what is left to the next night."""
        return sorted(
            (row["side"], row["offset"])
            for row in self._carry
            if _topic(row) == topic
        )


def _topic(row: Row) -> str:
    return str(row["target_topic"])
