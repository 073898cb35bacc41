"""Faults on the real components, beyond stopping and killing them.

Properties are given to a start of the mirror:
``lab.mirror.start(drop_marked() | tolerate_errors())``.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from struct import Struct
from typing import Literal

from .exceptions import LabError
from .lab import Lab
from .process import JvmSettings
from .settings import SOURCE, TARGET
from .site import LabSite
from .topics import LabTopics
from .waiting import wait_until

__all__ = [
    "MARK",
    "Quota",
    "alter_marked",
    "cut_log",
    "drop_marked",
    "exactly_once",
    "expire",
    "only_committed",
    "quota",
    "recreate_topic",
    "reroute_marked",
    "tolerate_errors",
]


MARK = "mirrorwatch-fault"
"""Header that a test gives to records that a transform shall hit."""

_FLOW = f"{SOURCE}->{TARGET}"
_TRANSFORMS = "org.apache.kafka.connect.transforms"
_LIMIT = timedelta(seconds=120)
"""Longest until a broker has done it: what took longer would have failed."""


def drop_marked(header: str = MARK) -> dict[str, str]:
    """Properties of a mirror that drops records with a header.

    The position moves past what was dropped only when a later record of the
    partition is copied.
    """
    return _on_marked(header, {"type": f"{_TRANSFORMS}.Filter"})


def reroute_marked(topic: str, header: str = MARK) -> dict[str, str]:
    """Properties of a mirror that sends marked records to another topic."""
    return _on_marked(
        header,
        {
            "type": f"{_TRANSFORMS}.RegexRouter",
            "regex": ".*",
            "replacement": topic,
        },
    )


def alter_marked(header: str = MARK) -> dict[str, str]:
    """Properties of a mirror that takes this header off the records.

    Connect's own transforms can alter nothing else of records that MirrorMaker
    2 copies: to them, keys and values are bytes without fields.
    """
    return _on_marked(
        header, {"type": f"{_TRANSFORMS}.DropHeaders", "headers": header}
    )


def tolerate_errors() -> dict[str, str]:
    """Properties of a mirror that goes on past what it cannot write.

    Its copying of topic configurations is off, because it would put back a
    `max.message.bytes` that a test lowered at the target.
    """
    return {
        f"{_FLOW}.errors.tolerance": "all",
        f"{_FLOW}.sync.topic.configs.enabled": "false",
    }


def only_committed() -> dict[str, str]:
    """Properties of a mirror that leaves out aborted transactions."""
    return {f"{SOURCE}.consumer.isolation.level": "read_committed"}


def exactly_once() -> dict[str, str]:
    """Properties of a mirror that writes in transactions."""
    return {
        **only_committed(),
        f"{TARGET}.exactly.once.source.support": "enabled",
        # Its nodes fence each other through this.
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": "http://127.0.0.1:0",
    }


def recreate_topic(
    topics: LabTopics,
    name: str,
    partitions: int,
    configs: Mapping[str, str] | None = None,
) -> None:
    """Delete a topic and make it again, with a new id and no records."""
    topics.delete(name)
    wait_until(
        lambda: name not in topics.names(),
        limit=_LIMIT,
        what=f"the topic {name} is still there",
    )
    topics.create(name, partitions, configs or {})


def expire(topics: LabTopics, name: str) -> None:
    """Let everything that a topic holds expire by its age, now.

    A mirror that looks at configurations meanwhile copies the short
    retention to its target; delete records where that would matter.
    """
    topics.set_configs(name, {"retention.ms": "1"})
    wait_until(
        lambda: all(low == high for low, high in topics.ends(name).values()),
        limit=_LIMIT,
        what=f"records of {name} have not expired",
    )
    topics.unset_configs(name, ["retention.ms"])


def cut_log(site: LabSite, topic: str, keep: int, partition: int = 0) -> int:
    """Kill a broker and start it without the end of a log.

    So the log is after an unclean leader election, or where a disk has lost
    what was written last. Whole batches are lost: what is sent at once is.

    Parameters
    ----------
    site
        Whose broker.
    topic
        Topic, not larger than one segment.
    keep
        Offsets that are kept at least, if there are so many.
    partition
        Partition number.

    Returns
    -------
    int
        The new end of the log.
    """
    site.kill()
    folder = site.data / f"{topic}-{partition}"
    (segment,) = folder.glob("*.log")
    content = segment.read_bytes()
    at = end = 0
    while at < len(content) and end < keep:
        # Offset of the first record and size of the rest; behind a leader
        # epoch, a format, a checksum and flags: the last record's distance.
        first, size, _, _, _, _, distance = _BATCH.unpack_from(content, at)
        at, end = at + _SIZED_AT + size, first + distance + 1
    segment.write_bytes(content[:at])
    for index in (*folder.glob("*index"), *folder.glob("*.snapshot")):
        index.unlink()
    site.start()
    return end


_BATCH = Struct(">qiibIhi")
"""Head of a record batch of format 2 (KIP-98)."""

_SIZED_AT = 12
"""Bytes of a batch that its size does not count."""


def _on_marked(header: str, transform: Mapping[str, str]) -> dict[str, str]:
    predicate = f"{_TRANSFORMS}.predicates.HasHeaderKey"
    return {
        f"{_FLOW}.transforms": "fault",
        **{f"{_FLOW}.transforms.fault.{k}": v for k, v in transform.items()},
        f"{_FLOW}.transforms.fault.predicate": "marked",
        f"{_FLOW}.predicates": "marked",
        f"{_FLOW}.predicates.marked.type": predicate,
        f"{_FLOW}.predicates.marked.name": header,
    }


Quota = Literal["producer_byte_rate", "consumer_byte_rate"]
"""Kafka quota, in bytes a second and broker."""

_LIMIT_SECONDS = 180
"""Longest run of the tool, which is a JVM of its own."""


@contextmanager
def quota(
    lab: Lab, side: Literal["source", "target"], name: Quota, rate: int
) -> Iterator[None]:
    """Hold every client of a site to a rate, until the context ends.

    Raises
    ------
    LabError
        Raised if the site does not take it.
    """
    _configure(lab, side, ["--add-config", f"{name}={rate}"])
    try:
        yield
    finally:
        _configure(lab, side, ["--delete-config", name])


def _configure(
    lab: Lab, side: Literal["source", "target"], change: list[str]
) -> None:
    site = lab.source if side == "source" else lab.target
    with tempfile.TemporaryDirectory() as folder:
        command = JvmSettings.prepare(lab.settings.kafka).command(
            "kafka.admin.ConfigCommand",
            *("--bootstrap-server", site.bootstrap, "--alter", *change),
            *("--entity-type", "clients", "--entity-default"),
            folder=Path(folder),
            heap_mib=128,
        )
        try:
            subprocess.run(
                command,
                check=True,
                capture_output=True,
                text=True,
                timeout=_LIMIT_SECONDS,
            )
        except subprocess.CalledProcessError as e:
            raise LabError(f"The quota was not set: {e.stdout}") from e
        except subprocess.TimeoutExpired as e:
            raise LabError("The quota was not set in time") from e
