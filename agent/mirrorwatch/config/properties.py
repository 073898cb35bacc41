"""Mappings of properties of a client or of Spark, with the secrets hidden."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ..secrets import HIDDEN, hide_secrets, looks_secret
from .base import (
    NEVER_SHOWN,
    ConfigProblem,
    ProblemsError,
    Referenced,
    WrittenFloat,
    WrittenInt,
)

__all__ = ["PROPERTY_NAME", "Properties", "find_no_text"]


PROPERTY_NAME = re.compile(r"[\w./-]+", re.ASCII)
"""Pattern of a property name. An address, say, does not match, and could hold
a secret."""


class Properties(Mapping[str, str]):
    """Properties of a program by its own names.

    A mapping like any other (``{**properties, "client.id": "x"}``), whose
    ``repr`` and dump do not show secrets.

    Parameters
    ----------
    properties
        Properties; values that came from a reference are `Referenced`.
    """

    kind: ClassVar[str] = "properties"
    """Kind of properties, for messages."""

    names: ClassVar[re.Pattern[str]] = PROPERTY_NAME
    names_are: ClassVar[str] = "must hold names of properties only"
    """Message where a name does not match."""

    owned: ClassVar[Mapping[str, str]] = {}
    """Properties that must be left out, and why."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._values = {k: str(v) for k, v in properties.items()}
        self._hidden = frozenset(
            key
            for key, value in properties.items()
            if isinstance(value, Referenced) or looks_secret(key)
        )
        self._referenced = frozenset(
            k for k, v in properties.items() if isinstance(v, Referenced)
        )

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_display()!r})"

    @property
    def secrets(self) -> frozenset[str]:
        """Values that must not be shown."""
        return frozenset(self._values[key] for key in self._hidden)

    @property
    def plain_secrets(self) -> tuple[str, ...]:
        """Keys of secrets that stand in the file itself.

        Paths of key files and addresses of token servers are none.
        """
        return tuple(
            key
            for key in self._hidden - self._referenced
            if not key.endswith((".location", ".url", ".method"))
        )

    def to_display(self) -> dict[str, str]:
        """Return the properties with the secrets hidden."""
        return {
            key: HIDDEN if key in self._hidden else hide_secrets(value)
            for key, value in self._values.items()
        }

    @classmethod
    def find_faults(
        cls, properties: Mapping[str, Any]
    ) -> Iterator[ConfigProblem]:
        """Yield faults of properties as they are in the file."""
        for key, value in properties.items():
            if not cls.names.fullmatch(key):
                yield ConfigProblem((), cls.names_are, shows_value=False)
            elif key in cls.owned:
                message = f"must be left out: {cls.owned[key]}"
                yield ConfigProblem((key,), message)
            else:
                yield from find_no_text(key, value)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                cls.to_display
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        scalar = {"type": ["string", "number", "boolean"]}
        return {"type": "object", "additionalProperties": scalar}

    @classmethod
    def _validate(cls, value: Any) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise PydanticCustomError(
                NEVER_SHOWN, "must be a mapping of {kind}", {"kind": cls.kind}
            )
        problems = list(cls.find_faults(value))
        if problems:
            raise ProblemsError(problems)
        return cls({key: _to_text(v) for key, v in value.items()})


def find_no_text(key: str, value: Any) -> Iterator[ConfigProblem]:
    """Yield the fault of a property that is neither text nor number."""
    if value is None:
        yield ConfigProblem((key,), "has no value")
    elif not isinstance(value, str | int | float):
        message = "must be text (a date needs quotes), a number, true or false"
        yield ConfigProblem((key,), message, shows_value=False)


def _to_text(value: str | float) -> str:
    """Write a value as it stands in the file, or as librdkafka does; a
    reference stays one.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, WrittenInt | WrittenFloat):
        return value.text
    return value if isinstance(value, str) else str(value)
