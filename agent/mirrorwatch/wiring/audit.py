"""The nightly audit of all flows."""

import sys
from pathlib import Path
from zoneinfo import ZoneInfo

from ..config import Config
from ..config.audit import AuditConfig, to_mebibytes, to_trigger
from ..config.display import hidden_values
from ..sources.audit.job import (
    JobSettings,
    why_not_read,
    why_not_start,
)
from ..sources.audit.worker import (
    AuditAttempts,
    AuditStarter,
    AuditWatch,
    AuditWorker,
    Schedule,
)
from ..state.audits import ResultFolder, local_path
from ..state.documents import DocumentStore
from .context import WiredParts, WiringContext

__all__ = ["to_results", "wire_audit"]


def to_results(config: Config) -> Path | None:
    """Return the folder of results on this machine; `None` if there is none.
    Results that are posted need one.
    """
    if config.audit is None:
        return None
    folder = local_path(config.audit_out)
    if folder is None and config.audit.post is not None:
        return config.state.path.with_name("audit")
    return folder


BESIDE_HEAP = 2048
"""Mebibytes for what Java keeps outside its heap: half of it was seen."""


def wire_audit(
    config: Config, around: WiringContext, *, starts: bool = True
) -> WiredParts:
    """Wire what starts audits and reads their results.

    Parameters
    ----------
    config
        The whole configuration: one audit is of all flows.
    around
        Shared parts of the agent.
    starts
        This agent may start audits.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    audit, out = config.audit, config.audit_out
    if audit is None:
        return WiredParts()
    folder = to_results(config)
    schedule = Schedule(to_trigger(audit.schedule), ZoneInfo(audit.timezone))
    problems = [why_not_read(out, is_local=folder is not None)]
    starter = None
    if starts and audit.start:
        problems.append(why_not_start(has_file=config.file is not None))
        if problems[-1] is None:
            starter = _wire_starter(config, audit, schedule, around)
    worker = AuditWorker(
        stores={
            flow.name: DocumentStore(
                around.database, flow.name, "audits", AuditWatch
            )
            for flow in config.audited_flows
        },
        folder=None if folder is None else ResultFolder(folder),
        starter=starter,
        schedule=schedule,
        problems=[problem for problem in problems if problem],
        clock=around.clock,
    )
    return WiredParts(workers=(worker,), sources=(worker,))


def _wire_starter(
    config: Config,
    audit: AuditConfig,
    schedule: Schedule,
    around: WiringContext,
) -> AuditStarter:
    file = str(config.file.absolute()) if config.file is not None else ""
    command = [sys.executable, "-m", "mirrorwatch", "audit", "run"]
    return AuditStarter(
        settings=JobSettings(
            command=[*command, "--config", file, "--json"],
            memory=to_mebibytes(audit.memory) + BESIDE_HEAP,
            secrets=tuple(hidden_values(config)),
        ),
        schedule=schedule,
        name="%Y-%m-%dT%H:%M" if audit.several_a_day else "%Y-%m-%d",
        timeout=audit.timeout,
        store=DocumentStore(around.database, "", "audit_diary", AuditAttempts),
        clock=around.clock,
        logger=around.logger,
    )
