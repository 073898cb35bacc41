"""Brings messages to one receiver, in a thread of its own."""

from datetime import timedelta
from threading import Event

from structlog.typing import FilteringBoundLogger

from ...exceptions import SinkError, SinkRejectedError
from ...state.outbox import Outbox
from ..backoff import Backoff
from ..troubles import Troubles
from .receiver import Receiver

__all__ = ["Delivery"]

STEP_SECONDS = 0.5
"""How long one step waits for something to do."""


class Delivery:
    """Brings what waits in the outbox to one receiver.

    A receiver that refuses, hangs or is away keeps its messages waiting and
    nobody else: each has a thread of its own, and the tick only writes.

    Parameters
    ----------
    receiver
        Whom to bring messages to.
    outbox
        Where they wait.
    backoff
        When to try again.
    logger
        Told of each trouble once, and when it is over.
    """

    interval = timedelta()
    """`step` waits by itself."""

    def __init__(
        self,
        receiver: Receiver,
        outbox: Outbox,
        *,
        backoff: Backoff | None = None,
        logger: FilteringBoundLogger,
    ) -> None:
        self.name = f"notify {receiver.name}"
        self._receiver = receiver
        self._outbox = outbox
        self._backoff = backoff or Backoff()
        self._logger = logger.bind(receiver=receiver.name)
        self._troubles = Troubles(self._logger)
        self._closing = Event()
        self._settled = 0
        self.up: bool | None = None
        """Whether the last try succeeded; `None` before the first."""

        self.refused = 0
        """Messages given up because the receiver refuses them."""

    def step(self) -> None:
        """Bring the next message, or wait a moment for one, or for its time.

        Raises
        ------
        StateError
            Raised if the outbox cannot be used.
        """
        pause = self._backoff.remaining_seconds
        if self._closing.is_set() or pause > 0:
            self._closing.wait(min(pause, STEP_SECONDS) or STEP_SECONDS)
            return
        if not self._outbox.wait(self._receiver.name, STEP_SECONDS):
            return
        found = self._outbox.oldest(self._receiver.name)
        if found is None:
            return
        number, message = found
        # One that was brought and could not be removed is not sent again:
        # else a full disk would ring a phone every second.
        if number > self._settled:
            try:
                self._receiver.send(message)
            except SinkRejectedError as e:
                self.up, self.refused = False, self.refused + 1
                self._logger.warning(
                    "Notice refused for good",
                    notice=message.id,
                    **e.to_logging_context(),
                )
            except SinkError as e:
                self.up = False
                self._backoff.fail(e.retry_after)
                self._troubles.tell("Receiver unavailable", e)
                return
            else:
                self.up = True
                self._backoff.succeed()
                self._troubles.end(self._outbox.waiting, self.refused)
            self._settled = number
        self._outbox.remove(number)

    def close(self) -> None:
        """Stop; what waits stays in the outbox for the next agent."""
        self._closing.set()
        self._receiver.close()
