"""Offsets that a consumer of old keeps in ZooKeeper, by kazoo.

Kafka's consumers did so until 0.9, and uReplicator does: each offset is a
znode, ``/consumers/GROUP/offsets/TOPIC/PARTITION``: the next one, as text.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from ..domain.cluster_view import TopicPartition
from ..exceptions import (
    ConfigError,
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)

__all__ = ["OffsetNodes", "ZooKeeperAccess"]


CONNECT_SECONDS = 15.0
"""Longest wait for a session; kazoo tries all servers meanwhile."""

READ_SECONDS = 30.0
"""Longest reading: requests are sent without waiting for the answer to the one
before."""

SESSION_SECONDS = 10.0
"""kazoo's default. Nothing lives in the session: no znode is written."""

SOURCE = "zookeeper"


@dataclass(frozen=True, kw_only=True, slots=True)
class ZooKeeperAccess:
    """Connection settings of a ZooKeeper ensemble."""

    servers: str
    """``host:port`` of each, with commas, and a chroot behind the last."""

    user: str | None = None
    """Name for the scheme ``digest``, where znodes are not for everybody."""

    password: str | None = field(default=None, repr=False)
    ca: str | None = None


class OffsetNodes:
    """Reads the offsets of one group.

    Parameters
    ----------
    cluster
        Alias of the cluster whose offsets they are, for errors.
    access
        Connection settings of ZooKeeper.
    group
        Name of the group.

    Raises
    ------
    ConfigError
        Raised if kazoo is not installed.
    """

    def __init__(
        self, cluster: str, access: ZooKeeperAccess, group: str
    ) -> None:
        try:
            import kazoo.client  # noqa: PLC0415 - an extra
        except ImportError as e:
            raise ConfigError(
                "mirror.zookeeper: kazoo is missing; install "
                "mirrorwatch[zookeeper]"
            ) from e
        self.path = f"/consumers/{group}/offsets"
        self._cluster = cluster
        self._make = kazoo.client.KazooClient
        self._access = access
        self._client: Any = None

    def read(self) -> dict[TopicPartition, int]:
        """Read all offsets of the group.

        Raises
        ------
        SourceUnavailableError
            Raised if no server answers, or the session ended meanwhile.
        SourceDeniedError
            Raised if the znodes may not be read.
        SourceError
            Raised if the group has none, or one is no offset.

        Notes
        -----
        A follower may lag behind its leader and return old offsets: a `sync`
        comes first.
        """
        from kazoo.exceptions import (  # noqa: PLC0415 - an extra
            AuthFailedError,
            KazooException,
            NoAuthError,
            NoNodeError,
        )
        from kazoo.handlers.threading import (  # noqa: PLC0415
            KazooTimeoutError,
        )

        try:
            return self._read(self._connected())
        except NoNodeError as e:
            raise self._error(f"has no {self.path}") from e
        except (NoAuthError, AuthFailedError) as e:
            raise SourceDeniedError(
                f"ZooKeeper of {self._cluster} refuses to show {self.path}",
                source=SOURCE,
                cluster=self._cluster,
                right=f"read on {self.path}",
            ) from e
        except (KazooTimeoutError, KazooException, OSError) as e:
            # A session that was lost is not waited for: the next is new.
            self.close()
            raise SourceUnavailableError(
                f"ZooKeeper of {self._cluster} does not answer: "
                f"{type(e).__name__}",
                source=SOURCE,
                cluster=self._cluster,
            ) from e

    def close(self) -> None:
        """Let go of the session."""
        client, self._client = self._client, None
        if client is None:
            return
        from kazoo.exceptions import KazooException  # noqa: PLC0415

        # A server that does not answer says no good-bye either.
        with suppress(KazooException, OSError):
            client.stop()
            client.close()

    def _connected(self) -> Any:
        if self._client is None:
            access = self._access
            auth = [("digest", f"{access.user}:{access.password}")]
            self._client = self._make(
                hosts=access.servers,
                timeout=SESSION_SECONDS,
                auth_data=auth if access.user is not None else None,
                use_ssl=access.ca is not None,
                ca=access.ca,
                check_hostname=access.ca is not None,
                logger=_silent(),
            )
            self._client.start(CONNECT_SECONDS)
        return self._client

    def _read(self, client: Any) -> dict[TopicPartition, int]:
        deadline = monotonic() + READ_SECONDS

        def answers(asked: Sequence[Any]) -> list[Any]:
            return [a.get(timeout=deadline - monotonic()) for a in asked]

        answers([client.sync_async(self.path)])
        (topics,) = answers([client.get_children_async(self.path)])
        partitions = answers(
            [client.get_children_async(f"{self.path}/{t}") for t in topics]
        )
        keys = [
            (topic, number)
            for topic, numbers in zip(topics, partitions, strict=True)
            for number in numbers
        ]
        values = answers(
            [client.get_async(f"{self.path}/{t}/{n}") for t, n in keys]
        )
        texts = {
            key: text for key, (text, _) in zip(keys, values, strict=True)
        }
        return self._parse(texts)

    def _parse(
        self, texts: Mapping[tuple[str, str], bytes]
    ) -> dict[TopicPartition, int]:
        found = {}
        for (topic, number), text in texts.items():
            if not (_is_number(number.encode()) and _is_number(text)):
                raise self._error(
                    f"has no offset in {self.path}/{topic}/{number}"
                )
            found[topic, int(number)] = int(text)
        return found

    def _error(self, what: str) -> SourceError:
        return SourceError(
            f"ZooKeeper of {self._cluster} {what}",
            source=SOURCE,
            cluster=self._cluster,
        )


def _is_number(text: bytes) -> bool:
    return text.isdigit() and len(text) < 20


def _silent() -> logging.Logger:
    """Return a logger that writes nothing: kazoo's has every packet, and so
    the password.
    """
    logger = logging.getLogger("mirrorwatch.kazoo")
    logger.disabled = True
    return logger
