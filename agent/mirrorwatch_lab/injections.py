"""Faults as they are asked for: with words for arguments."""

from collections.abc import Callable
from datetime import timedelta

from mirrorwatch.exceptions import LabError

from . import faults
from .lab import Lab
from .link import Link
from .process import Part

__all__ = [
    "Undo",
    "configure",
    "cut",
    "delete_records",
    "delete_topic",
    "drop_marked",
    "expire",
    "freeze",
    "grow",
    "kill",
    "recreate_topic",
    "restore",
    "slow",
    "stall",
    "start",
    "stop",
    "thaw",
]


Undo = Callable[[], None]
"""What takes a fault back."""


def freeze(lab: Lab, name: str) -> Undo:
    """Stop the clock of a part."""
    part = _part(lab, name)
    part.freeze()
    return part.thaw


def kill(lab: Lab, name: str) -> Undo:
    """Crash a part."""
    part = _part(lab, name)
    part.kill()
    return part.start


def stop(lab: Lab, name: str) -> Undo:
    """Shut a part down."""
    part = _part(lab, name)
    part.stop()
    return part.start


def start(lab: Lab, name: str) -> None:
    """Start a part again."""
    _part(lab, name).start()


def thaw(lab: Lab, name: str) -> None:
    """End a freeze."""
    _part(lab, name).thaw()


def cut(lab: Lab, user: str) -> Undo:
    """Cut the line of the mirror or the agent."""
    link = _link(lab, user)
    link.cut()
    return link.restore


def stall(lab: Lab, user: str) -> Undo:
    """Let nothing through on a line that stays open."""
    link = _link(lab, user)
    link.stall()
    return link.restore


def slow(
    lab: Lab, user: str, milliseconds: str, bytes_per_second: str = ""
) -> Undo:
    """Make a line long, and narrow."""
    link = _link(lab, user)
    link.shape(
        timedelta(milliseconds=float(milliseconds)),
        int(bytes_per_second) if bytes_per_second else None,
    )
    return link.shape


def restore(lab: Lab, user: str) -> None:
    """Make a line perfect again."""
    link = _link(lab, user)
    link.restore()
    link.shape()


def drop_marked(lab: Lab) -> Undo:
    """Start the mirror again with a filter."""
    lab.mirror.stop()
    lab.mirror.start(faults.drop_marked())

    def undo() -> None:
        lab.mirror.stop()
        lab.mirror.start()

    return undo


def delete_records(lab: Lab, topic: str, partition: str, before: str) -> None:
    """Delete records of the source."""
    lab.delete_records(topic, {int(partition): int(before)})


def expire(lab: Lab, topic: str) -> None:
    """Let all records of a topic of the source expire."""
    faults.expire(lab.source.topics, topic)


def delete_topic(lab: Lab, topic: str) -> None:
    """Delete a topic of the source."""
    lab.source.topics.delete(topic)


def recreate_topic(lab: Lab, topic: str, partitions: str) -> None:
    """Delete a topic of the source and make it again."""
    faults.recreate_topic(lab.source.topics, topic, int(partitions))


def grow(lab: Lab, topic: str, partitions: str) -> None:
    """Add partitions to a topic of the source."""
    lab.grow(topic, int(partitions))


def configure(lab: Lab, side: str, topic: str, key: str, value: str) -> None:
    """Change a topic's configuration on one side."""
    sites = {"source": lab.source, "target": lab.target}
    if side not in sites:
        raise LabError(f"No side {side}; there are {', '.join(sites)}")
    sites[side].topics.set_configs(topic, {key: value})


def _part(lab: Lab, name: str) -> Part:
    parts: dict[str, Part] = {
        "source": lab.source,
        "target": lab.target,
        **lab.parts,
    }
    if name not in parts:
        raise LabError(f"No part {name}; there are {', '.join(parts)}")
    return parts[name]


def _link(lab: Lab, user: str) -> Link:
    links = {"mirror": lab.link_mirror, "agent": lab.link_agent}
    if user not in links:
        raise LabError(f"No link of {user}; there are {', '.join(links)}")
    return links[user]
