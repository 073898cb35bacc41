"""Asking several clusters several things, when some may not answer."""

from collections.abc import Callable
from typing import TypeVar

from ..domain.observations import Problem
from ..exceptions import SourceError, SourceUnavailableError
from .cluster import Cluster

__all__ = ["Inquiry"]

T = TypeVar("T")


class Inquiry:
    """Asks, and keeps what went wrong.

    Notes
    -----
    A cluster that does not answer is not asked again in the same inquiry:
    each question would wait for its own time-out, and all say the same.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._silent: set[str] = set()
        self._refusing: set[str] = set()

    def ask(
        self, cluster: Cluster, question: Callable[[Cluster], T]
    ) -> T | None:
        """Ask a cluster; `None` if it does not answer, or refuses."""
        if cluster.alias in self._silent:
            return None
        try:
            return question(cluster)
        except SourceError as e:
            if isinstance(e, SourceUnavailableError):
                self._silent.add(e.cluster)
            self._refusing.add(e.cluster)
            self.problems.append(Problem.unknown(str(e)))
            return None

    def reached(self, cluster: Cluster) -> bool:
        """Whether a cluster has answered everything so far."""
        return cluster.alias not in self._refusing
