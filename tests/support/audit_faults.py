"""What may befall records on a real mirror, and what an audit must say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mirrorwatch_lab import Lab
from mirrorwatch_lab.faults import MARK
from tests.support.audit_command import Ran, write
from tests.support.lab import copied

__all__ = ["AT", "FAULTS", "Fault", "Found", "counts", "found", "inject"]
__all__ += ["last_value", "record", "records"]

AT = 10
"""Offset at which a fault is: so many records come before it, and after."""

AFTER = 1000
"""Number of the first record after the fault."""

OUTSIDE_MS = 120_000
"""How far from the others records are that the window leaves out."""

Record = dict[str, Any]
"""Arguments of ``Producer.produce``."""

Found = tuple[str, int, list[list[int]], list[list[int]]]
"""Kind, count, source offsets and target offsets of a finding."""


def record(begin: datetime, number: int, **more: Any) -> Record:
    """Return a record so many milliseconds after the begin."""
    return {
        "key": b"key",
        "value": b"value %d" % number,
        "headers": {"h": b"x"},
        "timestamp": round(begin.timestamp() * 1000) + number,
        **more,
    }


def records(begin: datetime, first: int, count: int) -> list[Record]:
    """Return records a millisecond apart."""
    return [record(begin, n) for n in range(first, first + count)]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What befalls one topic, after its first records were copied."""

    found: tuple[Found, ...]
    """What an audit must find."""

    lost: tuple[int, ...] = ()
    """Which of the records that are written then the mirror drops."""

    sent: int = 1
    """How many are written then."""

    value: bytes | None = b"the one"
    """What is in those that it drops."""

    written: tuple[Record, ...] = ()
    """What somebody writes to the target then: what in them differs from the
    one that was dropped."""

    alone: bool = False
    """Whether the window ends just before and just after the fault."""

    def before(self, begin: datetime) -> list[Record]:
        """Return what is copied first."""
        return records(begin, -OUTSIDE_MS if self.alone else 0, AT)

    def at_source(self, begin: datetime) -> list[Record]:
        """Return what is written to the source then."""
        return [
            self._the_one(begin, AT + n)
            if n in self.lost
            else record(begin, AT + n)
            for n in range(self.sent)
        ]

    def at_target(self, begin: datetime) -> list[Record]:
        """Return what is written to the target then."""
        one = self._the_one(begin, AT)
        return [
            record(begin, other["again"]) if "again" in other else one | other
            for other in self.written
        ]

    def after(self, begin: datetime) -> list[Record]:
        """Return what is copied last."""
        return records(begin, OUTSIDE_MS if self.alone else AFTER, AT)

    def _the_one(self, begin: datetime, number: int) -> Record:
        return record(begin, number, value=self.value, headers={MARK: b"x"})


def _ranges(offsets: Sequence[int]) -> list[list[int]]:
    return [[offset, offset] for offset in offsets]


_HERE = _ranges([AT])

_SCATTERED = tuple(range(0, 100, 6))
assert len(_SCATTERED) == 17

FAULTS: Mapping[str, Fault] = {
    "dropped": Fault(lost=(0,), found=(("dropped", 1, _HERE, []),)),
    "scattered": Fault(
        sent=100,
        lost=_SCATTERED,
        found=(("dropped", 17, _ranges([AT + n for n in _SCATTERED]), []),),
    ),
    "stretch": Fault(
        sent=40,
        lost=tuple(range(40)),
        found=(("dropped", 40, [[AT, AT + 39]], []),),
    ),
    "edges": Fault(
        sent=30,
        lost=(0, 29),
        alone=True,
        found=(("dropped", 2, _ranges([AT, AT + 29]), []),),
    ),
    "extra": Fault(sent=0, written=({},), found=(("extra", 1, [], _HERE),)),
    "doubled": Fault(
        sent=0,
        written=({"again": 0},),
        found=(("duplicated", 1, [[0, 0]], _HERE),),
    ),
    # As many records as before, in the same ten minutes.
    "evened": Fault(
        lost=(0,),
        written=({"again": 3},),
        found=(
            ("dropped", 1, _HERE, []),
            ("duplicated", 1, [[3, 3]], _HERE),
        ),
    ),
    "flipped": Fault(
        lost=(0,),
        written=({"value": b"the onf"},),
        found=(("corrupted", 1, _HERE, _HERE),),
    ),
    "emptied": Fault(
        lost=(0,),
        value=None,
        written=({"value": b""},),
        found=(("corrupted", 1, _HERE, _HERE),),
    ),
    "header": Fault(
        lost=(0,),
        written=({"headers": {MARK: b"y"}},),
        found=(("corrupted", 1, _HERE, _HERE),),
    ),
}
"""A topic for each."""


def inject(lab: Lab, faults: Mapping[str, Fault], begin: datetime) -> None:
    """Let each fault befall its topic, on a mirror that drops what is marked.

    Parameters
    ----------
    lab
        The lab.
    faults
        Faults by their topics, which are empty.
    begin
        Timestamp of the first record that is not left out.
    """
    source, target = lab.source.bootstrap, lab.target.bootstrap
    for topic, fault in faults.items():
        write(source, topic, fault.before(begin))
    for topic, fault in faults.items():
        copied(lab, topic, last_value(fault.before(begin)))
        write(source, topic, fault.at_source(begin))
        write(target, topic, fault.at_target(begin))
        write(source, topic, fault.after(begin))
    for topic, fault in faults.items():
        copied(lab, topic, last_value(fault.after(begin)))


def last_value(written: Sequence[Record]) -> list[str]:
    """Return the value of the last of these records, if there is one."""
    return [record["value"].decode() for record in written[-1:]]


def found(ran: Ran) -> dict[str, tuple[Found, ...]]:
    """Return what an audit found, by topic."""
    by_topic: dict[str, tuple[Found, ...]] = {}
    for finding in ran.document["findings"]:
        one = (
            finding["kind"],
            finding["count"],
            finding["source_offsets"],
            finding["target_offsets"],
        )
        others = by_topic.get(finding["topic"], ())
        by_topic[finding["topic"]] = tuple(sorted((*others, one)))
    return by_topic


def counts(ran: Ran) -> dict[str, tuple[int, int]]:
    """Return how many records an audit counted on each side, by topic."""
    return {
        topic["topic"]: (topic["source_count"], topic["target_count"])
        for topic in ran.document["topics"]
    }
