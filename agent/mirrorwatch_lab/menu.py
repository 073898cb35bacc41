"""The faults that can be injected by name, from another terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from . import faults
from .exceptions import LabError
from .lab import Lab
from .link import Link
from .process import Part

__all__ = ["FAULTS", "Fault", "Undo", "inject"]


Undo = Callable[[], None]


_Apply = Callable[..., Undo | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """A fault with a name."""

    usage: str
    summary: str
    apply: _Apply
    can_undo: bool


FAULTS: dict[str, Fault] = {}
"""Every fault that has a name, by that name."""


def inject(
    lab: Lab,
    name: str,
    arguments: Sequence[str],
    *,
    to_be_undone: bool = False,
) -> Undo | None:
    """Inject a fault.

    Parameters
    ----------
    lab
        Lab to break.
    name
        Name of the fault.
    arguments
        Its arguments, as typed.
    to_be_undone
        The fault is undone later.

    Returns
    -------
    callable or None
        Function that ends the fault, where that is possible.

    Raises
    ------
    LabError
        Raised if there is no such fault, or its arguments make no sense.
    """
    if name not in FAULTS:
        raise LabError(f"No fault {name}; there are {', '.join(FAULTS)}")
    fault = FAULTS[name]
    wanted = fault.usage.split()
    least = sum(not word.startswith("[") for word in wanted)
    if not least <= len(arguments) <= len(wanted):
        raise LabError(f"Usage: {name} {fault.usage}".rstrip())
    if to_be_undone and not fault.can_undo:
        raise LabError(f"{name} cannot be undone")
    try:
        return fault.apply(lab, *arguments)
    except ValueError as e:
        raise LabError(f"Usage: {name} {fault.usage} ({e})") from e


def _fault(
    usage: str, summary: str, *, can_undo: bool = False
) -> Callable[[_Apply], _Apply]:

    def register(function: _Apply) -> _Apply:
        FAULTS[function.__name__.strip("_").replace("_", "-")] = Fault(
            usage=usage, summary=summary, apply=function, can_undo=can_undo
        )
        return function

    return register


@_fault("PART", "Freeze source, target or mirror (SIGSTOP)", can_undo=True)
def _freeze(lab: Lab, name: str) -> Undo:
    part = _part(lab, name)
    part.freeze()
    return part.thaw


@_fault("PART", "End a freeze")
def _thaw(lab: Lab, name: str) -> None:
    _part(lab, name).thaw()


@_fault("PART", "Crash a part (SIGKILL)", can_undo=True)
def _kill(lab: Lab, name: str) -> Undo:
    part = _part(lab, name)
    part.kill()
    return part.start


@_fault("PART", "Shut a part down", can_undo=True)
def _stop(lab: Lab, name: str) -> Undo:
    part = _part(lab, name)
    part.stop()
    return part.start


@_fault("PART", "Start a part again")
def _start(lab: Lab, name: str) -> None:
    _part(lab, name).start()


@_fault(
    "LINK", "Cut the link to the source, of mirror or agent", can_undo=True
)
def _cut(lab: Lab, user: str) -> Undo:
    link = _link(lab, user)
    link.cut()
    return link.restore


@_fault("LINK", "Let nothing through on a link that stays open", can_undo=True)
def _stall(lab: Lab, user: str) -> Undo:
    link = _link(lab, user)
    link.stall()
    return link.restore


@_fault(
    "LINK RTT_MILLISECONDS [BYTES_PER_SECOND]",
    "Add latency to a link, and limit its bandwidth",
    can_undo=True,
)
def _slow(
    lab: Lab, user: str, milliseconds: str, bytes_per_second: str = ""
) -> Undo:
    link = _link(lab, user)
    link.shape(
        timedelta(milliseconds=float(milliseconds)),
        int(bytes_per_second) if bytes_per_second else None,
    )
    return link.shape


@_fault("LINK", "Undo all that was done to a link")
def _restore(lab: Lab, user: str) -> None:
    link = _link(lab, user)
    link.restore()
    link.shape()


@_fault(
    "",
    f"Restart the mirror so that it drops records with the header "
    f"{faults.MARK}",
    can_undo=True,
)
def _drop_marked(lab: Lab) -> Undo:
    lab.mirror.stop()
    lab.mirror.start(faults.drop_marked())

    def undo() -> None:
        lab.mirror.stop()
        lab.mirror.start()

    return undo


@_fault("TOPIC PARTITION BEFORE_OFFSET", "Delete records at the source")
def _delete_records(lab: Lab, topic: str, partition: str, before: str) -> None:
    lab.delete_records(topic, {int(partition): int(before)})


@_fault("TOPIC", "Expire all records of a topic at the source")
def _expire(lab: Lab, topic: str) -> None:
    faults.expire(lab.source.topics, topic)


@_fault("TOPIC", "Delete a topic at the source")
def _delete_topic(lab: Lab, topic: str) -> None:
    lab.source.topics.delete(topic)


@_fault("TOPIC PARTITIONS", "Delete and recreate a topic at the source")
def _recreate_topic(lab: Lab, topic: str, partitions: str) -> None:
    faults.recreate_topic(lab.source.topics, topic, int(partitions))


@_fault("TOPIC PARTITIONS", "Add partitions to a topic at the source")
def _grow(lab: Lab, topic: str, partitions: str) -> None:
    lab.grow(topic, int(partitions))


@_fault("SIDE TOPIC KEY VALUE", "Change a topic's config at source or target")
def _configure(lab: Lab, side: str, topic: str, key: str, value: str) -> None:
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
