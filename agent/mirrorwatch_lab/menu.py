"""The faults that can be asked for by name, from another terminal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mirrorwatch.exceptions import LabError

from . import injections
from .faults import MARK
from .injections import Undo
from .lab import Lab

__all__ = ["FAULTS", "Fault", "inject"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """A fault with a name."""

    usage: str
    """Its arguments, as a person types them."""

    summary: str
    """What it does."""

    apply: Callable[..., Undo | None]
    """Does it, to a lab, with the arguments; returns what takes it back."""

    can_undo: bool = False
    """Whether it can be taken back."""


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
        Whether it shall be taken back later.

    Returns
    -------
    callable or None
        What takes the fault back, where that can be.

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
        raise LabError(f"What {name} does cannot be taken back")
    try:
        return fault.apply(lab, *arguments)
    except ValueError as e:
        raise LabError(f"Usage: {name} {fault.usage} ({e})") from e


FAULTS: Mapping[str, Fault] = {
    "freeze": Fault(
        usage="PART",
        summary="Stop the clock of source, target or mirror",
        apply=injections.freeze,
        can_undo=True,
    ),
    "thaw": Fault(usage="PART", summary="End a freeze", apply=injections.thaw),
    "kill": Fault(
        usage="PART",
        summary="Crash a part (kill -9)",
        apply=injections.kill,
        can_undo=True,
    ),
    "stop": Fault(
        usage="PART",
        summary="Shut a part down",
        apply=injections.stop,
        can_undo=True,
    ),
    "start": Fault(
        usage="PART", summary="Start a part again", apply=injections.start
    ),
    "cut": Fault(
        usage="LINK",
        summary="Cut the line to the source for mirror or agent",
        apply=injections.cut,
        can_undo=True,
    ),
    "stall": Fault(
        usage="LINK",
        summary="Let nothing through on a line that stays open",
        apply=injections.stall,
        can_undo=True,
    ),
    "slow": Fault(
        usage="LINK RTT_MILLISECONDS [BYTES_PER_SECOND]",
        summary="Make a line long, and narrow",
        apply=injections.slow,
        can_undo=True,
    ),
    "restore": Fault(
        usage="LINK",
        summary="Make a line perfect again",
        apply=injections.restore,
    ),
    "drop-marked": Fault(
        usage="",
        summary=f"Start the mirror again so that it drops what has a header "
        f"{MARK}",
        apply=injections.drop_marked,
        can_undo=True,
    ),
    "delete-records": Fault(
        usage="TOPIC PARTITION BEFORE_OFFSET",
        summary="Delete records of the source",
        apply=injections.delete_records,
    ),
    "expire": Fault(
        usage="TOPIC",
        summary="Let all records of a topic of the source expire",
        apply=injections.expire,
    ),
    "delete-topic": Fault(
        usage="TOPIC",
        summary="Delete a topic of the source",
        apply=injections.delete_topic,
    ),
    "recreate-topic": Fault(
        usage="TOPIC PARTITIONS",
        summary="Delete a topic of the source and make it again",
        apply=injections.recreate_topic,
    ),
    "grow": Fault(
        usage="TOPIC PARTITIONS",
        summary="Add partitions to a topic of the source",
        apply=injections.grow,
    ),
    "configure": Fault(
        usage="SIDE TOPIC KEY VALUE",
        summary="Change a topic's configuration at source or target",
        apply=injections.configure,
    ),
}
"""Every fault that has a name, by that name."""
