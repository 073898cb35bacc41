"""MirrorMaker 1, the mirror of Kafka up to 3.9."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from .mirror import LOOK, START_LIMIT, Bookmark, LabMirror
from .process import write_properties
from .settings import LabSettings
from .waiting import wait_until

__all__ = ["GROUP", "LabMirrorMaker1", "mirrormaker1_properties"]


GROUP = "mirrormaker"
"""Consumer group at the source with which it reads."""

CONSUMER, PRODUCER = "consumer.", "producer."

COMMITS = "1000"
"""Milliseconds between two commits; a minute is its default."""

ARGUMENTS = {
    "offset.commit.interval.ms": COMMITS,
    # It drops what cannot be sent, and does not end, as it does by default.
    "abort.on.send.failure": "false",
}
"""Arguments of MirrorMaker 1 itself, not properties of its clients."""


class LabMirrorMaker1(LabMirror):
    """MirrorMaker 1: one process, and a consumer group at the source."""

    main = "kafka.tools.MirrorMaker"
    program = "mirrormaker1"

    def arguments(self, folder: Path) -> tuple[str, ...]:
        return (
            *("--consumer.config", str(folder / "consumer.properties")),
            *("--producer.config", str(folder / "producer.properties")),
            *("--include", ".*", "--num.streams", "2"),
        )

    @property
    def agent_config(self) -> dict[str, Any]:
        return {"kind": "mirrormaker1", "group": GROUP}

    def launch(self, properties: Mapping[str, str] | None = None) -> None:
        if self.running:
            return
        wanted = self._configure(properties or {})
        for prefix in (CONSUMER, PRODUCER):
            write_properties(
                self._config.with_name(f"{prefix}properties"),
                {
                    key.removeprefix(prefix): value
                    for key, value in wanted.items()
                    if key.startswith(prefix)
                },
            )
        given = ((f"--{name}", wanted[name]) for name in ARGUMENTS)
        self._process.start(*chain.from_iterable(given))

    def wait(self, since: Bookmark | None = None) -> None:
        del since
        wait_until(
            self._joined,
            limit=START_LIMIT,
            pause=LOOK,
            what=lambda: (
                "the mirror does not join its group. The end of its log:\n"
                f"{self._process.tail()}"
            ),
        )

    def _joined(self) -> bool:
        self._process.check()
        said = self._process.tail(100)
        return "Adding newly assigned partitions" in said


def mirrormaker1_properties(
    settings: LabSettings,
    *,
    source: str,
    target: str,
    more: Mapping[str, str],
) -> dict[str, str]:
    """Return the properties of MirrorMaker 1's clients, by prefix.

    Parameters
    ----------
    settings
        Settings of the lab.
    source
        Address of the source, as the mirror sees it.
    target
        Address of the target.
    more
        Properties that go over all others.
    """
    return {
        f"{CONSUMER}bootstrap.servers": source,
        f"{CONSUMER}group.id": GROUP,
        f"{CONSUMER}auto.offset.reset": "earliest",
        # New topics are found, and a dead one is missed, within seconds.
        f"{CONSUMER}metadata.max.age.ms": "1000",
        f"{CONSUMER}session.timeout.ms": "6000",
        f"{CONSUMER}heartbeat.interval.ms": "2000",
        f"{PRODUCER}bootstrap.servers": target,
        f"{PRODUCER}linger.ms": "5",
        **ARGUMENTS,
        **settings.mirror_properties,
        **more,
    }
