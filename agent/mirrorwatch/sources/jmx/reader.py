"""Reading MBeans: one interface, however a program offers them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from ...domain.mbeans import MBean, Wanted
from ...exceptions import SourceUnavailableError

__all__ = ["JmxAddress", "JmxReader"]


@dataclass(frozen=True, kw_only=True, slots=True)
class JmxAddress:
    """Where the figures of one process are."""

    url: str
    """Its address, without secrets."""

    cluster: str
    """Alias of the cluster that the program writes to."""

    timeout: timedelta
    """How long an answer may take."""

    user: str | None = None
    """Who asks, where a login is wanted."""

    password: str | None = None
    """The secret that goes with it; never shown."""

    ca: Path | None = None
    """Who signs the server's certificate, if no public authority does."""

    def __repr__(self) -> str:
        return f"JmxAddress({self.url!r})"

    def unavailable(self, text: str) -> SourceUnavailableError:
        """Return an error that says what is wrong with this address."""
        return SourceUnavailableError(
            f"{self.url}: {text}", source="jmx", cluster=self.cluster
        )


class JmxReader(Protocol):
    """Reads the MBeans of one process."""

    def read(self, wanted: Sequence[Wanted]) -> Sequence[MBean]:
        """Return those MBeans that there are, with what they say.

        Raises
        ------
        SourceUnavailableError
            Raised, with the remedy, if the process does not answer.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
