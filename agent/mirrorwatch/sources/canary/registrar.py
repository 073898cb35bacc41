"""Gets the probe's schema its id, and sees that readers can resolve it."""

import time
from collections.abc import Callable
from datetime import timedelta

from ...domain.observations import Problem
from ...domain.verdicts import Health
from ...exceptions import SourceError
from ..registry import Registry
from .avro import SCHEMA, Avro, is_same_schema
from .board import Board
from .settings import CanarySettings

__all__ = ["Registrar"]

WAITING = 5.0
"""Seconds to the next try as long as no probe can be sent."""

AGAIN = 60.0
"""Seconds to the next look at what works, or is not for the agent to mend:
soon enough for a person, and nothing to a registry."""

PROVED = 600.0
"""Seconds that a schema which readers can resolve counts as resolved. It
would have to be deleted to change."""


class Registrar:
    """Registers the probe's schema at the source, and looks at the target.

    Parameters
    ----------
    settings
        What the canary was told.
    encoding
        Gets the id, and knows the ids that arrive.
    source
        Registry of the source.
    target
        Registry of the target; `None` if readers there have none of their
        own.
    board
        Where others see what is wrong.
    clock
        A clock that only goes forward, in seconds.

    Notes
    -----
    The id is not kept in the state file: registering again gives the same
    one, and an id that nobody has verified is never sent.
    """

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        settings: CanarySettings,
        encoding: Avro,
        source: Registry,
        target: Registry | None,
        board: Board,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = f"registrar {settings.flow.name}"
        # As Confluent's serializers name it, by default.
        self._subject = f"{settings.topic}-value"
        self._encoding = encoding
        self._source = source
        self._target = target
        self._board = board
        self._clock = clock
        self._register_at = self._look_at = clock()
        self._looked_for: int | None = None
        self._at_source: Problem | None = None
        self._at_target: Problem | None = None

    def step(self) -> None:
        if self._clock() >= self._register_at:
            self._at_source = self._register()
            waiting = not self._encoding.ready
            pause = WAITING if waiting else AGAIN
            self._register_at = self._clock() + pause
            self._tell()
        arrived, target = self._encoding.arrived_id, self._target
        if target is None or arrived is None:
            return
        if arrived != self._looked_for or self._clock() >= self._look_at:
            self._at_target = self._look(target, arrived)
            self._looked_for = arrived
            pause = AGAIN if self._at_target else PROVED
            self._look_at = self._clock() + pause
            self._tell()

    def close(self) -> None:
        self._source.close()
        if self._target is not None:
            self._target.close()

    def _tell(self) -> None:
        found = (self._at_source, self._at_target)
        self._board.note_schemas([p for p in found if p is not None])

    def _register(self) -> Problem | None:
        try:
            # Found first: that needs no right to write, where somebody else
            # has registered it.
            found = self._source.find(self._subject, SCHEMA)
            if found is None:
                found = self._source.register(self._subject, SCHEMA)
        except SourceError as e:
            known = self._encoding.schema_id
            then = (
                "No probe is sent until the registry has the schema "
                f"{self._subject}"
                if known is None
                else f"Probes go on with schema id {known}"
            )
            return Problem.unknown(f"{e}. {then}")
        self._encoding.schema_id = found
        return None

    def _look(self, target: Registry, schema_id: int) -> Problem | None:
        try:
            found = target.schema(schema_id)
        except SourceError as e:
            return Problem.unknown(
                f"{e}. Whether readers at {target.cluster} can decode what "
                "arrives is not known"
            )
        if found is not None and is_same_schema(found):
            return None
        wrong = "unknown" if found is None else "another schema"
        return Problem(
            Health.WARNING,
            f"Probes arrive, but readers at {target.cluster} cannot decode "
            f"them: schema id {schema_id} is {wrong} at its registry: copy "
            f"the schemas of {self._source.cluster} there with their ids",
        )
