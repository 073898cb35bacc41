"""Two sites with logs in memory, and audits of them without clusters."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    PartitionPair,
    Plan,
    Request,
    Side,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch_audit.digest.records import Times
from mirrorwatch_audit.job import AuditJob
from mirrorwatch_audit.store.store import RunStore
from mirrorwatch_audit.tools import Settings, Tools
from tests.support.audit import a_plan
from tests.support.logs import AT, Logs

__all__ = ["Site"]


class Site:
    """Logs, a planner that is told what to say, and a job on them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.logs = Logs(spark)
        self.pairs: tuple[PartitionPair, ...] | None = ()
        self.gone: tuple[Unverifiable, ...] = ()
        self.broken: Side | None = None
        self.deleted: str | None = None
        self.reads: list[Side] = []
        self.days = 0
        self.folder = folder
        self.store = RunStore(spark, str(folder))

    def __call__(
        self, pairs: Sequence[PartitionPair], side: Side
    ) -> DataFrame:
        self.reads.append(side)
        read = self.logs(pairs, side)
        # As Spark's source converts it.
        when = sf.unix_millis(sf.timestamp_millis("timestamp"))
        read = read.withColumn("timestamp", when)
        if any(pair.target_topic == self.deleted for pair in pairs):
            return read.withColumn("offset", sf.raise_error(sf.lit("gone")))
        # What Spark finds out when it reads.
        return (
            read.selectExpr("*", "1 / 0 AS broken").where("broken > 0")
            if side == self.broken
            else read
        )

    def since(
        self, pairs: Sequence[PartitionPair], side: Side, times: Times
    ) -> list[PartitionPair]:
        return self.logs.since(pairs, side, times)

    def freeze(self, request: Request, before: AuditedEnds) -> Plan:
        at = AT + timedelta(days=self.days)
        if self.pairs is None:
            return replace(a_plan(), pairs=())
        return a_plan(*self.pairs, at=at)

    def recheck(self, plan: Plan) -> tuple[Plan, tuple[Unverifiable, ...]]:
        return plan, self.gone

    @property
    def tools(self) -> Tools:
        """What its audits work with."""
        return Tools(
            read=self,
            planner=self,
            settings=Settings(bucket=timedelta(minutes=10), timezone=UTC),
            stage=nullcontext,
            clock=lambda: AT + timedelta(days=self.days),
        )

    def night(self) -> FinishedAudit:
        """Run the night of today."""
        (audit,) = AuditJob(self.tools, self.store).run(Request())
        return audit
