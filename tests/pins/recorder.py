"""Records what an agent's trackers are given, and what they make of it.

The classes that are wrapped here are today's: only a new recording needs
them, the pins that compare do not.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Self
from unittest.mock import patch

from mirrorwatch.domain.positions import MirrorFact, Sync
from mirrorwatch.domain.view import FlowView
from mirrorwatch.pipeline import Pipeline
from mirrorwatch.sources.positions import Positions
from mirrorwatch.sources.survey import Survey
from mirrorwatch.sources.surveyed import Reader, Surveyed

from .recorder_canary import canary_wrappers
from .recorder_trackers import tracker_wrappers
from .seam_values import (
    CODEC,
    Json,
    from_observation,
    from_sync,
    from_view,
)

__all__ = ["Recorder", "recording"]


class Recorder:
    """Writes events down in their order.

    Parameters
    ----------
    file
        JSON lines.
    """

    def __init__(self, file: Path) -> None:
        self._stream = file.open("w", encoding="utf-8")
        self._lock = Lock()
        self.noting = RLock()
        """Held while a survey is taken: all take the same pairs with it."""

        self.syncs: list[Sync] = []
        self._surveys: dict[str, int] = {}
        self._same: dict[str, Any] = {}
        self._numbers: dict[int, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def put(self, kind: str, **what: Any) -> None:
        """Write an event down."""
        line = json.dumps({"kind": kind, **what}, separators=(",", ":"))
        with self._lock:
            if not self._stream.closed:
                self._stream.write(f"{line}\n")

    def news(self, **what: Any) -> Json:
        """Return what is not the same as when it was last written."""
        found = {k: v for k, v in what.items() if self._same.get(k) != v}
        self._same |= found
        return found

    def put_survey(self, view: FlowView, positions: Positions) -> None:
        """Write a survey down, with all that the mirror said until now."""
        number = self._surveys[view.at.isoformat()] = len(self._surveys)
        syncs, self.syncs = self.syncs, []
        self.put(
            "survey",
            survey=number,
            view=from_view(view),
            syncs=[from_sync(sync) for sync in syncs],
            **self.news(
                connectors=[CODEC.encode(c) for c in positions.connectors()],
                homes=dict(positions.homes()),
                problems=list(positions.problems()),
            ),
        )

    def number(self, view: FlowView) -> int:
        """Return the number of a survey."""
        return self._surveys[view.at.isoformat()]

    def numbered(self, fingerprint: int) -> int:
        """Return a short number for how a record looks."""
        return self._numbers.setdefault(fingerprint, len(self._numbers))


@contextmanager
def recording(file: Path) -> Iterator[Recorder]:
    """Record everything that agents of this process do meanwhile."""
    with ExitStack() as stack:
        recorder = stack.enter_context(Recorder(file))
        for kind, name, wrap in (
            (Positions, "note", _note),
            (Survey, "__init__", _survey),
            (Pipeline, "tick", _tick),
            *tracker_wrappers(),
            *canary_wrappers(),
        ):
            original = getattr(kind, name)
            wrapped = wrap(recorder, original)
            stack.enter_context(patch.object(kind, name, wrapped))
        yield recorder


def _note(recorder: Recorder, original: Callable[..., Any]) -> Any:
    def note(self: Positions, fact: MirrorFact) -> None:
        with recorder.noting:
            original(self, fact)
            if isinstance(fact, Sync):
                recorder.syncs.append(fact)

    return note


def _survey(recorder: Recorder, original: Callable[..., Any]) -> Any:
    class Together:
        """All readers of a flow: they learn of the same survey."""

        def __init__(self, flow: Surveyed) -> None:
            self._readers: Sequence[Reader] = flow.readers
            self._positions = flow.positions

        def take(self, view: FlowView) -> None:
            with recorder.noting:
                recorder.put_survey(view, self._positions)
                for reader in self._readers:
                    reader.take(view)

    def make(self: Survey, *, flows: Sequence[Surveyed], **rest: Any) -> None:
        together = [replace(f, readers=(Together(f),)) for f in flows]
        original(self, flows=together, **rest)

    return make


def _tick(recorder: Recorder, original: Callable[..., Any]) -> Any:
    def tick(self: Any) -> Any:
        report = original(self)
        seen = {}
        for observation in report.observations:
            written = from_observation(observation)
            seen[written["kind"]] = written["seen"]
        fresh = recorder.news(**{f"seen {k}": s for k, s in seen.items()})
        recorder.put(
            "tick",
            at=report.at.isoformat(),
            kinds=sorted(seen),
            seen={k.removeprefix("seen "): s for k, s in fresh.items()},
            returned=[CODEC.encode(verdict) for verdict in report.verdicts],
            **recorder.news(
                limits={f: CODEC.encode(o) for f, o in self._limits.items()}
            ),
        )
        return report

    return tick
