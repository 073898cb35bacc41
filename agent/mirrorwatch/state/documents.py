"""Values that are read and written as a whole: JSON in the state file.

One value of a flow is a versioned document, many are rows of a table.
`to_json` and `from_json` say how a value of the domain becomes JSON, in the
state file and wherever else one is kept.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, TypeVar

from cattrs import Converter
from cattrs.gen import (
    make_dict_structure_fn,
    make_dict_unstructure_fn,
    override,
)
from pydantic_core import to_json as to_bytes

from ..clock import Clock
from ..domain.audit.result import AuditFinding, AuditResult
from ..domain.canary.tracker import Ledger
from ..domain.copies.coverage import Coverage, Span, State
from ..domain.offsets import RangeSet
from ..domain.parity.tracker import FirstSeenChanges
from ..domain.report import Verdict
from .database import Database

__all__ = [
    "DocumentStore",
    "FirstSeenStore",
    "FlowTable",
    "VerdictStore",
    "from_json",
    "to_json",
    "to_time",
]


T = TypeVar("T")
K = TypeVar("K", bound=tuple[Any, ...])


def to_time(text: str) -> datetime:
    """Read a time; one without a zone could be compared with no other."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a time without a zone")
    return at


_MICROSECOND = timedelta(microseconds=1)

# Kept in rows of their own, or not worth keeping: a proof is read again.
_ELSEWHERE = override(omit=True)

_converter = Converter()
_converter.register_unstructure_hook(datetime, datetime.isoformat)
_converter.register_structure_hook(datetime, lambda text, _: to_time(text))
_converter.register_unstructure_hook(
    timedelta, lambda duration: duration // _MICROSECOND
)
_converter.register_structure_hook(
    timedelta, lambda number, _: number * _MICROSECOND
)
for _scalar in (
    str | int | float | bool | None,  # evidence
    str | int,  # subjects of findings
    int | float | None,  # their numbers
):
    _converter.register_structure_hook(_scalar, lambda value, _: value)
_converter.register_unstructure_hook(RangeSet, list)
_converter.register_structure_hook(
    RangeSet, lambda pairs, _: RangeSet((a, b) for a, b in pairs)
)
_converter.register_unstructure_hook(
    Coverage,
    lambda coverage: [
        coverage.absent_from,
        *(
            (s.first, s.end, s.state.value, s.target, s.slack, s.reach)
            for s in coverage.spans
        ),
    ],
)
_converter.register_structure_hook(
    Coverage,
    lambda rows, _: Coverage(
        [
            Span(first, end, State(state), *offsets)
            for first, end, state, *offsets in rows[1:]
        ],
        rows[0],
    ),
)
_converter.register_unstructure_hook(
    Ledger,
    make_dict_unstructure_fn(
        Ledger,
        _converter,
        outstanding=_ELSEWHERE,
        proofs=_ELSEWHERE,
        touched=_ELSEWHERE,
    ),
)
_converter.register_structure_hook(
    Ledger,
    make_dict_structure_fn(
        Ledger,
        _converter,
        outstanding=_ELSEWHERE,
        proofs=_ELSEWHERE,
        touched=_ELSEWHERE,
    ),
)
_FROM, _TO = override(rename="from"), override(rename="to")
for _spanning in (AuditFinding, AuditResult):
    _converter.register_unstructure_hook(
        _spanning,
        make_dict_unstructure_fn(_spanning, _converter, start=_FROM, end=_TO),
    )
    _converter.register_structure_hook(
        _spanning,
        make_dict_structure_fn(_spanning, _converter, start=_FROM, end=_TO),
    )


def to_json(value: Any) -> str:
    """Write a dataclass of the domain as JSON."""
    plain = _converter.unstructure(value)
    try:
        # Takes a third of the time that Python's own takes.
        return to_bytes(plain).decode()
    except ValueError:  # text that is no UTF-8, of whoever wrote it
        return json.dumps(plain, separators=(",", ":"))


def from_json(kind: type[T], text: str | bytes) -> T:
    """Read a dataclass of the domain; fields that lack keep their defaults."""
    return _converter.structure(json.loads(text), kind)


class DocumentStore(Generic[T]):
    """Keeps one value of one flow over restarts of the agent.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow; empty for what all flows share.
    kind
        Kind of the value: its name in the file.
    value_type
        Type of the value; its default is what is loaded where none is kept.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(
        self,
        database: Database,
        flow: str,
        kind: str,
        value_type: type[T],
    ) -> None:
        self._database = database
        self._key = (kind, flow)
        self._type = value_type

    def load(self) -> T:
        """Read the value."""
        with self._database.transaction() as sql:
            row = sql.execute(
                "SELECT body FROM documents WHERE kind = ? AND flow = ?",
                self._key,
            ).fetchone()
        if row is None:
            return self._type()
        kind, flow = self._key
        found = self._database.decode(
            "documents",
            {"kind": kind, "flow": flow},
            partial(from_json, self._type, row[0]),
        )
        return self._type() if found is None else found

    def save(self, value: T) -> None:
        """Write the value."""
        with self._database.transaction() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)",
                (*self._key, to_json(value)),
            )


class FlowTable(Generic[K, T]):
    """Keeps many values of one flow, each in a row of its own.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.
    name
        Name of the table: a constant, never input.
    key
        Its columns that tell the rows of a flow apart, with their types.
    value_type
        Type of the values.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(
        self,
        database: Database,
        flow: str,
        name: str,
        key: Mapping[str, str],
        value_type: type[T],
    ) -> None:
        self._database = database
        self._flow = flow
        self._name = name
        self._key = ("flow", *key)
        self._type = value_type
        types = ", ".join(f"{column} {type_}" for column, type_ in key.items())
        with database.transaction() as sql:
            sql.execute(
                f"CREATE TABLE IF NOT EXISTS {name} (flow TEXT, {types}, "
                "body TEXT NOT NULL, "
                f"PRIMARY KEY ({', '.join(self._key)})) WITHOUT ROWID"
            )

    def load(self) -> dict[K, T]:
        """Read all values, in the order of their keys."""
        columns = ", ".join(self._key)
        with self._database.transaction() as sql:
            rows = sql.execute(
                f"SELECT {columns}, body FROM {self._name} "  # noqa: S608
                f"WHERE flow = ? ORDER BY {columns}",
                (self._flow,),
            ).fetchall()
        # Behind the transaction: many take seconds, and it locks others out.
        found: dict[Any, T] = {}
        for *key, body in rows:
            value = self._database.decode(
                self._name,
                dict(zip(self._key, key, strict=True)),
                partial(from_json, self._type, body),
            )
            if value is not None:
                found[tuple(key[1:])] = value
        return found

    def save(self, values: Mapping[K, T | None]) -> None:
        """Write values by key; `None` removes what the key had."""
        where = " AND ".join(f"{column} = ?" for column in self._key)
        places = ", ".join("?" * len(self._key))
        with self._database.transaction() as sql:
            sql.executemany(
                f"DELETE FROM {self._name} WHERE {where}",  # noqa: S608
                [
                    (self._flow, *key)
                    for key, value in values.items()
                    if value is None
                ],
            )
            sql.executemany(
                f"INSERT OR REPLACE INTO {self._name} "  # noqa: S608
                f"VALUES ({places}, ?)",
                [
                    (self._flow, *key, to_json(value))
                    for key, value in values.items()
                    if value is not None
                ],
            )


class FirstSeenStore:
    """Keeps when each condition of one area of a flow was first seen.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.
    area
        Subject of the conditions.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database, flow: str, area: str) -> None:
        self._document = DocumentStore(
            database, flow, f"{area}_first_seen", dict[str, datetime]
        )
        self._database = database
        self._began: dict[str, datetime] = {}
        self._ended: set[str] = set()

    def load(self) -> Mapping[str, datetime]:
        """Return all conditions, and since when."""
        return self._document.load()

    def save(self, changes: FirstSeenChanges) -> None:
        """Write what began and what ended; nothing if nothing did.

        What could not be written is written with the next changes.
        """
        for condition in changes.ended:
            self._began.pop(condition, None)
        self._began.update(changes.began)
        self._ended |= changes.ended
        if not self._began and not self._ended:
            return
        with self._database.transaction():
            since = self._document.load()
            for condition in self._ended:
                since.pop(condition, None)
            self._document.save(since | self._began)
        self._began.clear()
        self._ended.clear()


FORGET_AFTER = timedelta(minutes=5)
"""A longer pause is a break in what was seen, so that nothing can be said to
have been so *since* a time before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _SavedVerdicts:
    at: datetime | None = None
    clock_offset: timedelta = timedelta()
    verdicts: tuple[Verdict, ...] = ()


class VerdictStore:
    """Keeps the newest verdict of each check.

    Parameters
    ----------
    database
        The state file.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._document = DocumentStore(
            database, "", "verdicts", _SavedVerdicts
        )

    def load(self, now: datetime) -> tuple[Verdict, ...]:
        """Read the verdicts, unless they are too old to continue from."""
        saved = self._document.load()
        if saved.at is None or now - saved.at > FORGET_AFTER:
            return ()
        return saved.verdicts

    def newest(self) -> datetime | None:
        """Return when verdicts were last written; `None` for never."""
        return self._document.load().at

    def resume(self, clock: Clock) -> None:
        """Let a clock carry on the time of the agent that wrote them."""
        saved = self._document.load()
        if saved.at is not None:
            clock.resume(saved.at, saved.clock_offset)

    def save(
        self,
        verdicts: Sequence[Verdict],
        now: datetime,
        clock_offset: timedelta = timedelta(),
    ) -> None:
        """Write the verdicts of a tick.

        Parameters
        ----------
        verdicts
            With times of the agent.
        now
            Time of the tick, by the wall clock: other processes read it.
        clock_offset
            Lead of the wall clock over the agent's own time.
        """
        self._document.save(
            _SavedVerdicts(
                at=now, clock_offset=clock_offset, verdicts=tuple(verdicts)
            )
        )
