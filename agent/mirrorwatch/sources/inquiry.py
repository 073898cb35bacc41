"""Asking several clusters several things, when some may not answer."""

from collections.abc import Callable
from typing import TypeVar

from ..domain.observations import Problem
from ..exceptions import SourceError, SourceUnavailableError
from .cluster import Cluster, Topic
from .kafka import denial

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

    def find_topic(
        self, cluster: Cluster, name: str, *operations: str
    ) -> Topic | None:
        """Describe a topic, and tell what the agent may not do with it.

        Parameters
        ----------
        cluster
            Where it is.
        name
            Name of the topic.
        operations
            What the agent will do, as Kafka's ACLs name it. Asked for now:
            some of it is needed only in trouble, when it must not be missing.
        """
        found = self.ask(
            cluster, lambda c: c.topic(name, right=" and ".join(operations))
        )
        if found is not None and (lacking := found.lacks(*operations)):
            right = f"{' and '.join(lacking)} on topic {name}"
            self.problems.append(Problem.unknown(denial(right, cluster.alias)))
        return found

    def reached(self, cluster: Cluster) -> bool:
        """Whether a cluster has answered everything so far."""
        return cluster.alias not in self._refusing
