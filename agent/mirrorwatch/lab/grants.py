"""What a user of a secured site may do, granted and taken away."""

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from ..domain.rights import Right
from ..exceptions import LabError

__all__ = ["Grants"]

_TIMEOUT_SECONDS = 90
"""Longest wait for an answer of a broker on this machine, which may do other
things."""


class Grants:
    """The rights of one user at one site.

    Parameters
    ----------
    admin
        Client of somebody who may change ACLs.
    user
        Whose rights they are.
    """

    def __init__(self, admin: AdminClient, user: str) -> None:
        self._admin = admin
        self._user = user

    def grant(self, rights: Iterable[Right]) -> None:
        """Allow these, beside what is allowed already."""
        wanted = [AclBinding(*self._entry(right)) for right in rights]
        for future in self._admin.create_acls(wanted).values():
            _result(future, "grant")

    def revoke(self, rights: Iterable[Right]) -> None:
        """Take these away."""
        wanted = [AclBindingFilter(*self._entry(right)) for right in rights]
        for future in self._admin.delete_acls(wanted).values():
            _result(future, "revoke")

    def _entry(self, right: Right) -> tuple[Any, ...]:
        return (
            ResourceType.TOPIC,
            right.topic,
            ResourcePatternType.LITERAL,
            f"User:{self._user}",
            "*",
            AclOperation[right.operation],
            AclPermissionType.ALLOW,
        )


def _result(future: "Future[Any]", what: str) -> None:
    try:
        future.result(_TIMEOUT_SECONDS)
    except (KafkaException, TimeoutError) as e:
        raise LabError(f"Cannot {what} rights: {e}") from e
