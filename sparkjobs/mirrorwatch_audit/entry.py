"""Audits of a configuration: what the commands call."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import structlog
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from rich.console import Console

from mirrorwatch.clock import utc_now
from mirrorwatch.config import AuditConfig, Config
from mirrorwatch.domain.audit.plan import Plan, Request, Side
from mirrorwatch.domain.audit.result import (
    Crossing,
    FinishedAudit,
)
from mirrorwatch.exceptions import AuditError, MirrorwatchError

from .checkpoint import reliable
from .digest.reader import KafkaReader
from .job import AuditJob
from .post import post_result
from .session import make_session, translated
from .split import Split
from .store.lock import only_one
from .store.store import RunStore
from .tools import Settings, SitePlanner, Tools

__all__ = ["Audits", "opened"]

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set where spark-submit started this process: its master rules then."""


class Audits:
    """Audits of a configuration, on one Spark session.

    Parameters
    ----------
    config
        The whole configuration.
    session
        Spark.
    folder
        Folder of all runs.
    console
        Console that shows stages, if it is a terminal.

    Raises
    ------
    MirrorwatchError
        Raised by every method if something failed; nothing is known then.
    """

    def __init__(
        self,
        config: Config,
        session: SparkSession,
        folder: str,
        console: Console,
    ) -> None:
        @contextmanager
        def stage(doing: str) -> Iterator[None]:
            with translated(doing), console.status(doing):
                session.sparkContext.setJobDescription(doing)
                yield

        audit = config.audit or AuditConfig()
        clusters = config.clusters.items()
        self._tools = Tools(
            read=KafkaReader(
                session,
                {alias: cluster.kafka for alias, cluster in clusters},
                {
                    alias: {**(audit.consumer or {}), **(cluster.java or {})}
                    for alias, cluster in clusters
                },
            ),
            planner=SitePlanner(config, utc_now),
            settings=Settings.of(config.audit),
            stage=stage,
            clock=utc_now,
        )
        self._session = session
        self._folder = folder
        self._keep = audit.keep
        self._post_to = audit.post
        self._split = Split(self._tools, session)

    def run(self, request: Request) -> list[FinishedAudit]:
        """Carry out what is asked for, alone on the folder of all runs."""
        finished = []
        with self._alone() as store:
            for audit in AuditJob(self._tools, store).run(request):
                self._post(audit)
                finished.append(audit)
            self._forget(store)
        return finished

    def freeze(self, request: Request, folder: str) -> Plan:
        """Freeze what a night compares, and write the plan to a folder of its
        own for the sites that digest it.
        """
        with self._alone() as store:
            plan = AuditJob(self._tools, store).freeze(request).plan
        self._split.ship(plan, folder)
        return plan

    def digest(self, side: Side, plan: str, folder: str) -> Crossing:
        """Digest one side of a plan that was frozen, into a folder of its
        own.
        """
        return self._split.digest(side, plan, folder)

    def compare(
        self, source: str, target: str
    ) -> tuple[FinishedAudit, tuple[Crossing, ...]]:
        """Compare the digests of both sides of a frozen night, and finish
        it.
        """
        digests, crossings = self._split.digests(source, target)
        with self._alone() as store:
            audit = AuditJob(self._tools, store).compare(digests)
            self._post(audit)
            self._forget(store)
        return audit, crossings

    @property
    def _store(self) -> RunStore:
        return RunStore(self._session, self._folder)

    @contextmanager
    def _alone(self) -> Iterator[RunStore]:
        """Hold the folder of all runs."""
        with only_one(self._folder):
            yield self._store

    def _post(self, audit: FinishedAudit) -> None:
        """Post a result; if that fails, it is in the folder all the same."""
        if self._post_to is None:
            return
        try:
            post_result(audit, self._post_to)
        except AuditError as e:
            logger = structlog.get_logger("mirrorwatch")
            logger.warning("Cannot post a result", error=str(e))

    def _forget(self, store: RunStore) -> None:
        """Delete old runs; if that fails, the audit is none the worse."""
        try:
            store.forget(self._tools.clock(), self._keep)
        except MirrorwatchError as e:
            logger = structlog.get_logger("mirrorwatch")
            logger.warning("Cannot delete old audits", error=str(e))


@contextmanager
def opened(
    config: Config,
    *,
    console: Console,
    out: str | None = None,
    master: str | None = None,
) -> Iterator[Audits]:
    """Start Spark, and stop it at the end.

    Parameters
    ----------
    config
        The whole configuration.
    console
        Console that shows stages, if it is a terminal.
    out
        Folder of all runs, in place of the configured one.
    master
        Spark's master, in place of the configured one. Where `spark-submit`
        started this process it rules, unless a master is given.

    Raises
    ------
    AuditError
        Raised if Spark does not start.
    """
    audit = config.audit or AuditConfig()
    if master is None and SUBMITTED not in os.environ:
        master = audit.master
    folder = out or config.audit_out
    with translated("Spark does not start"):
        session = make_session(
            master, memory=audit.memory, extra=audit.spark or {}
        )
    try:
        with reliable(session, folder):
            yield Audits(config, session, folder, console)
    finally:
        # If it has died, anyone who waited for its answer got the error.
        with suppress(Py4JError, ConnectionError):
            session.stop()
