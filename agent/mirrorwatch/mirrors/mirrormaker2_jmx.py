"""MirrorMaker 2's MBeans -> what the mirror of one flow says of itself."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..domain.mbeans import MBean
from ..domain.mirror_facts import (
    MirrorMetrics,
    Rebalances,
    TaskErrors,
    TaskState,
)
from ..domain.mirror_metrics import (
    ClassMetrics,
    ConsumerMetrics,
    IoMetrics,
    ProducerMetrics,
    TaskMetrics,
)
from . import mirrormaker2_rules as rules
from .aggregation import combine, highest
from .mirrormaker2_ownership import Ownership

__all__ = ["OTHER", "MirrorMaker2Jmx"]

OTHER = "other"
"""Class of topics that have none."""

_ERRORS = {
    "record_failures": "total-record-failures",
    "records_skipped": "total-records-skipped",
    "record_errors": "total-record-errors",
    "retries": "total-retries",
}

_SUCCESS, _FAILURE = (
    f"offset-commit-{outcome}-percentage" for outcome in ("success", "failure")
)


@dataclass(frozen=True, kw_only=True)
class MirrorMaker2Jmx:
    """Reads the figures of one flow out of MBeans."""

    own: Ownership
    """Which MBeans are the flow's."""

    classes: Mapping[str, re.Pattern[str]]
    """Pattern of the source topics in each class; the first one counts."""

    def metrics(self, read: Mapping[str, Sequence[MBean]]) -> MirrorMetrics:
        """Take together what all processes of the mirror say.

        Parameters
        ----------
        read
            MBeans by the address of the process.

        Notes
        -----
        Rates and numbers of things are added up. Of highest and lowest
        figures, the highest and lowest is taken. Means are weighted by the
        rate of what they are means of. Ratios are those of the worst.
        """
        everything = [mbean for mbeans in read.values() for mbean in mbeans]
        copying = self.own.copying(everything)
        consumers = [
            mbean
            for mbeans in read.values()
            for mbean in self.own.consumers(mbeans)
        ]
        producers = self.own.producers(everything, copying)
        tasks = list(self.own.tasks(everything, copying))
        clients = [m for m in consumers if "topic" not in m.properties]
        io = {"consumer": clients, "producer": producers}
        return MirrorMetrics(
            consumer=ConsumerMetrics(**combine(rules.CONSUMER, clients)),
            producer=ProducerMetrics(**combine(rules.PRODUCER, producers)),
            io={
                role: IoMetrics(**busy)
                for role, of in io.items()
                if (busy := combine(rules.IO, of))
            },
            classes=self._classes(read),
            tasks=TaskMetrics(
                **combine(rules.TASK, map(_committed, tasks)),
                **combine(rules.CHECKPOINTS, self.own.of_mirror(everything)),
            ),
            lags=_lags(consumers),
            silent=_silent(clients),
            errors=dict(
                counted
                for url, mbeans in read.items()
                for counted in _errors(url, self.own.tasks(mbeans, copying))
            ),
            last_error=_last_error(tasks),
            states=_states(tasks),
            rebalances={
                url: found
                for url, mbeans in read.items()
                if (found := _rebalances(mbeans)) is not None
            },
        )

    def _classes(
        self, read: Mapping[str, Sequence[MBean]]
    ) -> dict[str, ClassMetrics]:
        found: dict[str, list[MBean]] = {}
        for mbeans in read.values():
            copied: dict[tuple[str, str], MBean] = {}
            for mbean in self.own.of_mirror(mbeans):
                if "group" not in mbean.properties:
                    has = mbean.properties
                    # Kafka 4.3 can give one partition in both formats.
                    copied.setdefault((has["topic"], has["partition"]), mbean)
            for mbean in copied.values():
                name = self._class_of(self.own.origin(mbean) or "")
                found.setdefault(name, []).append(mbean)
        return {
            name: ClassMetrics(**combine(rules.CLASS, mbeans))
            for name, mbeans in sorted(found.items())
        }

    def _class_of(self, topic: str) -> str:
        for name, pattern in self.classes.items():
            if pattern.fullmatch(topic):
                return name
        return OTHER


def _committed(task: MBean) -> MBean:
    """Leave out the outcome of commits where none was tried."""
    given = task.attributes
    if given.get(_SUCCESS) or given.get(_FAILURE):
        return task
    return MBean(
        domain=task.domain,
        properties=task.properties,
        attributes={
            name: value
            for name, value in given.items()
            if name not in {_SUCCESS, _FAILURE}
        },
    )


def _lags(consumers: Iterable[MBean]) -> dict[tuple[str, int], float]:
    lags: dict[tuple[str, int], float] = {}
    for mbean in consumers:
        lag = mbean.attributes.get("records-lag")
        if isinstance(lag, float):
            has = mbean.properties
            key = (has["topic"], int(has["partition"]))
            lags[key] = max(lag, lags.get(key, lag))
    # Since Kafka 4.1 each topic is there twice, under its name and under the
    # one with underscores that it had before.
    twins = {topic.replace(".", "_") for topic, _ in lags if "." in topic}
    return {key: lag for key, lag in lags.items() if key[0] not in twins}


def _silent(clients: Iterable[MBean]) -> tuple[str, ...]:
    """Return the clients whose last fetch was answered before the window.

    One that has just started has no answer either, and none before.
    """
    return tuple(
        sorted(
            mbean.properties["client-id"]
            for mbean in clients
            if mbean.attributes.get("fetch-rate") == 0
            and mbean.attributes.get("fetch-total", 0) != 0
        )
    )


def _errors(
    url: str, tasks: Iterable[MBean]
) -> Iterator[tuple[tuple[str, str, int], TaskErrors]]:
    for mbean in tasks:
        if mbean.type == "task-error-metrics" and mbean.attributes:
            has, given = mbean.properties, mbean.attributes
            yield (
                (url, has["connector"], int(has["task"])),
                TaskErrors(
                    **{
                        name: int(given.get(attribute, 0))
                        for name, attribute in _ERRORS.items()
                    }
                ),
            )


def _last_error(tasks: Iterable[MBean]) -> datetime | None:
    newest = combine({"at": highest("last-error-timestamp")}, tasks).get("at")
    return datetime.fromtimestamp(newest / 1000, UTC) if newest else None


def _states(tasks: Iterable[MBean]) -> tuple[TaskState, ...]:
    states = set()
    for mbean in tasks:
        state = mbean.attributes.get("status")
        if isinstance(state, str):
            task = mbean.properties.get("task")
            states.add(
                TaskState(
                    connector=mbean.properties["connector"],
                    task=None if task is None else int(task),
                    state=state.lower(),
                )
            )
    return tuple(
        sorted(
            states,
            key=lambda s: (s.connector, -1 if s.task is None else s.task),
        )
    )


def _rebalances(mbeans: Iterable[MBean]) -> Rebalances | None:
    for mbean in mbeans:
        if mbean.type == "connect-worker-rebalance-metrics":
            given = mbean.attributes
            completed = given.get("completed-rebalances-total")
            return Rebalances(
                completed=None if completed is None else int(completed),
                last=_milliseconds(given.get("time-since-last-rebalance-ms")),
                longest=_milliseconds(given.get("rebalance-max-time-ms")),
            )
    return None


def _milliseconds(value: float | str | None) -> timedelta | None:
    if not isinstance(value, float):
        return None
    return timedelta(milliseconds=value)
