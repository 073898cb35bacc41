"""What every part of the configuration has in common."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from datetime import timedelta
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ..secrets import HIDDEN, looks_secret

__all__ = [
    "FROM_DATACLASS",
    "NEVER_SHOWN",
    "ConfigProblem",
    "Duration",
    "Model",
    "ProblemsError",
    "Referenced",
    "YamlPath",
    "find_block",
    "format_duration",
    "format_path",
    "parse_duration",
    "to_model",
]


class Referenced(str):
    """Text that came, at least in part, from a reference: never shown."""

    __slots__ = ()


YamlPath = tuple[str | int, ...]
"""Keys and list positions from the top of the file."""


class Model(BaseModel):
    """A frozen block of the configuration that refuses unknown keys.

    Notes
    -----
    A key without a value (``canary:``) is the same as no key, as people
    expect who comment out what is under it.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    origin: ClassVar[type | None] = None
    """The dataclass that it was made from, if it was."""

    _referenced: frozenset[YamlPath] = PrivateAttr(default=frozenset())

    @model_validator(mode="wrap")
    @classmethod
    def _remember_references(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self]
    ) -> Self:
        if not isinstance(data, dict):
            return handler(data)
        model = handler({k: v for k, v in data.items() if v is not None})
        model._referenced = frozenset(  # noqa: SLF001
            path
            for key, value in data.items()
            for path in _find_referenced(
                value, getattr(model, key, None), (key,)
            )
        )
        return model

    def is_hidden(self, *path: str) -> bool:
        """Return whether the value of a field must not be shown.

        Parameters
        ----------
        path
            Name of the field, and of those below it in a block that was made
            from a dataclass. Other blocks know their own.
        """
        return path in self._referenced or looks_secret(path[-1])

    @property
    def plain_secrets(self) -> tuple[str, ...]:
        """Fields whose secret stands in the file itself."""
        return tuple(
            name
            for name, value in self
            if isinstance(value, SecretStr) and (name,) not in self._referenced
        )

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        referenced = {path[0] for path in self._referenced}
        for name, value in super().__repr_args__():
            hidden = name is not None and (
                name in referenced or self.is_hidden(name)
            )
            yield name, HIDDEN if hidden else value


def _find_referenced(
    value: Any, loaded: Any, path: YamlPath
) -> Iterator[YamlPath]:
    """Yield what came from references; blocks of their own remember theirs."""
    match value:
        case dict() if is_dataclass(loaded):
            for key, part in value.items():
                inner = getattr(loaded, key, None)
                yield from _find_referenced(part, inner, (*path, key))
        case dict():
            found = any(isinstance(v, Referenced) for v in value.values())
            if found and isinstance(loaded, dict):
                yield path
        case list() | tuple():
            if any(isinstance(v, Referenced) for v in value):
                yield path
        case Referenced():
            yield path
        case _:
            pass


DURATION = re.compile(
    r"(?P<count>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h|d)", re.ASCII
)

UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}


def parse_duration(value: Any) -> Any:
    """Parse a duration with a unit.

    Raises
    ------
    PydanticCustomError
        Raised if it is none, or has no unit.

    Notes
    -----
    A bare number is refused: whether 5 means seconds or milliseconds is the
    kind of guess that a monitor must not make.
    """
    if isinstance(value, timedelta):
        return value
    if isinstance(value, int | float):
        raise PydanticCustomError(
            "duration", "a duration needs a unit; allowed are {allowed}", _HELP
        )
    match = DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError(
            "duration", "not a duration; allowed are {allowed}", _HELP
        )
    try:
        return float(match["count"]) * UNITS[match["unit"]]
    except OverflowError as e:
        raise PydanticCustomError("duration", "too long") from e


_HELP = {"allowed": "a number and one of ms, s, m, h, d, such as 250ms or 5s"}


def format_duration(duration: timedelta) -> str:
    """Write a duration in the largest unit that keeps it a whole number."""
    for name, unit in UNITS.items():
        if duration and duration % unit == timedelta():
            return f"{duration // unit}{name}"
    return f"{duration.total_seconds():g}s"


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
"""A duration, written with its unit."""


class _Block(Model):
    """Base of blocks that have titles for the texts of their fields.

    Notes
    -----
    They are made here and have no source, in which pydantic would search for
    these texts, module by module.
    """

    model_config = ConfigDict(use_attribute_docstrings=False)


class _FromDataclass:
    """Makes a strict block from a frozen dataclass of the domain."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        model = to_model(source)

        def load(value: Any, validate: Any) -> Any:
            if isinstance(value, source):
                return value
            block = validate(value)
            return source(**{k: getattr(block, k) for k in model.model_fields})

        return core_schema.no_info_wrap_validator_function(
            load,
            handler.generate_schema(model),
            serialization=core_schema.plain_serializer_function_ser_schema(
                dataclasses.asdict
            ),
        )


FROM_DATACLASS = _FromDataclass()
"""Annotates a key whose block is a dataclass of the domain, which so has its
names, types, defaults and reasons in one place. The loaded value is that
dataclass."""


@cache
def to_model(block: type) -> type[Model]:
    """Make the model of a dataclass.

    Parameters
    ----------
    block
        The dataclass. Keys are the fields whose metadata has a `title`; the
        rest of the metadata are bounds (`gt`, `ge`, `lt`, `le`), and `unit`
        for sizes in bytes. What has no title is known from elsewhere.
    """
    types = get_type_hints(block)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(block):
        options = dict(field.metadata)
        if "title" not in options:
            continue
        annotation = types[field.name]
        if is_dataclass(annotation):
            annotation = Annotated[annotation, FROM_DATACLASS]
        elif annotation is timedelta:
            annotation = Duration
        elif options.pop("unit", None) == "bytes":
            annotation = ByteSize
        if field.default_factory is dataclasses.MISSING:
            options["default"] = field.default
        else:
            options["default_factory"] = field.default_factory
        fields[field.name] = (annotation, Field(**options))
    model = create_model(
        block.__name__, __base__=_Block, __doc__=block.__doc__, **fields
    )
    model.origin = block
    return model


def find_block(annotation: Any) -> type[Model] | None:
    """Return the model of the block that an annotation stands for, if any."""
    if not isinstance(annotation, type):
        return None
    if is_dataclass(annotation):
        return to_model(annotation)
    return annotation if issubclass(annotation, Model) else None


NEVER_SHOWN = "never_shown"
"""Type of errors whose value must not be shown, whatever its key."""

PLAIN_KEY = re.compile(r"[\w-]+")
"""A key that needs no quotes in a path."""


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing that is wrong."""

    path: YamlPath
    """Where; relative to the block that raised it, until it is loaded."""

    message: str
    """What is wrong, and what is allowed. Never the value: whether that may
    be shown is decided in one place."""

    shows_value: bool = True
    """Whether the value may be shown, unless its key says otherwise."""


class ProblemsError(ValueError):
    """Raised by validators that find several problems at once.

    Parameters
    ----------
    problems
        All of them.
    """

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = tuple(problems)


def format_path(path: YamlPath) -> str:
    """Write a path as people do: ``flows[0].mirror.kind``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text
