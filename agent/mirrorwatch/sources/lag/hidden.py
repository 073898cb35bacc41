"""Topics that the mirror copies, but the agent is not shown."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from confluent_kafka import TopicCollection

from ...exceptions import SourceDeniedError, SourceError
from ..cluster import TIMEOUT, Cluster

__all__ = ["HiddenTopics"]

LOOK_AGAIN = timedelta(seconds=30)
"""How often to look: rights are granted by people."""

AT_ONCE = 100
"""Topics that are asked for at once; one that is refused suffices."""


class HiddenTopics:
    """Finds out whether topics are hidden from the agent.

    Notes
    -----
    A broker leaves out of its list what the agent may not describe. A flow
    whose topics are all hidden would look even, so the agent asks by name for
    those that the mirror's tasks were given.

    Parameters
    ----------
    cluster
        The source.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._looked_at: datetime | None = None

    def is_due(self, now: datetime) -> bool:
        """Tell whether to look again."""
        return self._looked_at is None or now - self._looked_at >= LOOK_AGAIN

    def look(self, unseen: Iterable[str], now: datetime) -> str | None:
        """Return what is hidden, in one sentence, or `None`.

        Parameters
        ----------
        unseen
            Topics that the mirror copies and the survey did not show. Those
            that were deleted are no concern.
        now
            The time.

        Raises
        ------
        SourceError
            Raised if the source cannot be asked.
        """
        problem = self._find(sorted(unseen))
        self._looked_at = now
        return problem

    def _find(self, unseen: list[str]) -> str | None:
        if not unseen:
            return None
        futures = self._cluster.call(
            lambda admin: admin.describe_topics(
                TopicCollection(unseen[:AT_ONCE]), request_timeout=TIMEOUT
            ),
            "DESCRIBE on its topics",
        )
        denied = []
        for name, future in futures.items():
            try:
                self._cluster.wait(future, f"DESCRIBE on topic {name}")
            except SourceDeniedError:
                denied.append(name)
            except SourceError:
                continue  # deleted, which the mirror learns later
        if not denied:
            return None
        first, *others = denied
        more = f" and {len(others)} more" if others else ""
        return (
            f"The agent is not shown {first}{more}, which the mirror copies: "
            "grant it DESCRIBE and READ on every topic that is copied, at "
            f"{self._cluster.alias}"
        )
