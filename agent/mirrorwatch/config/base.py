"""From YAML to models: what every block of the configuration has in common.

A file is read, references are resolved, the models check it: every problem is
named at once, with its line, and no secret is shown.
"""

import dataclasses
import difflib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import NoneType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    TypeVar,
    get_args,
    get_type_hints,
)

import yaml
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
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import (
    CoreSchema,
    ErrorDetails,
    PydanticCustomError,
    core_schema,
)

from ..exceptions import ConfigError, PlacedProblem
from ..secrets import (
    HIDDEN,
    hide_secrets,
    looks_secret,
    may_quote,
    never_show,
)

__all__ = [
    "FROM_DATACLASS",
    "NEVER_SHOWN",
    "ConfigProblem",
    "Document",
    "Duration",
    "Model",
    "ProblemsError",
    "ReferenceFailedError",
    "Referenced",
    "WrittenFloat",
    "WrittenInt",
    "YamlPath",
    "find_block",
    "find_referenced_files",
    "format_duration",
    "format_path",
    "load",
    "load_unfollowed",
    "parse_duration",
    "read_document",
    "read_documents",
    "read_text",
    "resolve",
    "to_model",
]


class Referenced(str):
    """Text that came, at least in part, from a reference: never shown.

    Parameters
    ----------
    text
        The text.
    parts
        Resolved values of its references.
    """

    __slots__ = ("parts",)
    parts: tuple[str, ...]

    def __new__(cls, text: str = "", parts: Iterable[str] = ()) -> Self:
        self = super().__new__(cls, text)
        self.parts = tuple(parts)
        return self


class WrittenInt(int):
    """A whole number that YAML reads otherwise than it is written.

    A password such as ``0123`` is octal to it, and ``12:34`` of base 60:
    properties of a client are text, and take what is written.
    """

    text: str = ""
    """As it is written."""


class WrittenFloat(float):
    """The same of other numbers: ``1.10`` is no password ``1.1``."""

    text: str = ""
    """As it is written."""


SHOWN_TO_ALL = (
    "is shown by page, metrics and notifications, and a reference is never "
    "shown; write the value here"
)
"""Against a reference where a name is written."""

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

    shown_to_all: ClassVar[frozenset[str]] = frozenset()
    """Keys of names that page, metrics and notifications must show."""

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
        shown = [
            ConfigProblem((key,), SHOWN_TO_ALL)
            for key, value in data.items()
            if isinstance(value, Referenced) and key in cls.shown_to_all
        ]
        if shown:
            raise ProblemsError(shown)
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
            yield name, HIDDEN if hidden else _clean(value)


def _clean(value: Any) -> Any:
    """Return a value without what has the form of a secret."""
    match value:
        case str() | Path():
            return hide_secrets(str(value))
        case tuple():
            return tuple(map(_clean, value))
        case dict():
            return {k: _clean(v) for k, v in value.items()}
        case _:
            return value


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
            found = [k for k, v in value.items() if isinstance(v, Referenced)]
            if found and isinstance(loaded, dict):
                yield path
                yield from ((*path, key) for key in found)
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


LONGEST = timedelta(days=3650)
"""Nobody waits longer, and times that far back can be computed with."""


LONGEST_LIMIT = timedelta(days=365)
"""A limit that is reached once a year is none."""

MOST = 1_000_000_000
"""Of numbers that are counted or compared: more is a mistake."""


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
        duration = float(match["count"]) * UNITS[match["unit"]]
    except OverflowError as e:
        raise PydanticCustomError("duration", "too long: at most 3650d") from e
    if duration > LONGEST:
        raise PydanticCustomError("duration", "too long: at most 3650d")
    return duration


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
    for each in dataclasses.fields(block):
        options = dict(each.metadata)
        if "title" not in options:
            continue
        annotation = types[each.name]
        if is_dataclass(annotation):
            annotation = Annotated[annotation, FROM_DATACLASS]
        elif annotation is timedelta:
            annotation = Duration
            options.setdefault("le", LONGEST_LIMIT)
        elif annotation in {int, float}:
            options.setdefault("le", MOST)
            if options.pop("unit", None) == "bytes":
                annotation = ByteSize
        if each.default_factory is dataclasses.MISSING:
            options["default"] = each.default
        else:
            options["default_factory"] = each.default_factory
        fields[each.name] = (annotation, Field(**options))
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
    """Configuration problem."""

    path: YamlPath
    """Path; relative to the block that raised it, until it is loaded."""

    message: str
    """Cause and allowed values. Never the value itself: one place decides
    whether that may be shown."""

    shows_value: bool = True
    """The value may be shown, unless its key says otherwise."""


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
            text += f'["{part}"]' if may_quote(part) else f'["{HIDDEN}"]'
    return text


QUOTED = re.compile(r"'(?!<[a-z ]+>')[^']{2,}'|\"[^\"]{2,}\"")
"""Parts of the file in PyYAML's messages. They are cut out: a password that
starts with ``*`` is an undefined alias to YAML. What PyYAML calls its own
tokens stays, such as ``'<stream end>'``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """Content of a file."""

    name: str
    """Name of the file, for messages."""

    data: Any
    """Its content: mappings, lists and scalars."""

    lines: Mapping[YamlPath, int] = field(default_factory=dict)
    """Line of each key and list item, counted from 1."""

    problems: Sequence[ConfigProblem] = ()
    """Problems of the document itself."""

    def to_error(self, problems: Sequence[ConfigProblem]) -> ConfigError:
        """Make the error that shows all problems, in the file's order."""
        placed = sorted(
            ((self._line(p.path), p) for p in problems), key=lambda x: x[0]
        )
        rows = {
            PlacedProblem(
                file=self.name,
                line=line or None,
                path=format_path(problem.path),
                message=problem.message,
            ): None
            for line, problem in placed
        }
        return ConfigError("\n".join(map(str, rows)), list(rows))

    def _line(self, path: YamlPath) -> int:
        """Return the line of the nearest key that is in the file."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0


MOST_BYTES = 128 * 1024
"""Size of a file: it is read within two seconds."""

MOST_VALUES = 100_000
"""Values of a file, those of aliases each time that they are used."""


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Read a file of text, and nothing that could have no end.

    Parameters
    ----------
    path
        The file.
    most_bytes
        Size above which it is refused.

    Raises
    ------
    ValueError
        Raised if there is no such text, with the reason and what to do.
    """
    try:
        # Not blocking: nobody may ever write to a pipe.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(number, "rb", closefd=True) as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise ValueError("not a regular file; copy it to one")
            data = file.read(most_bytes + 1)
    except OSError as e:
        raise ValueError(f"cannot read the file: {e.strerror}") from e
    if len(data) > most_bytes:
        raise ValueError(
            f"too large: must have at most {most_bytes // 1024} KiB; regexes "
            "are shorter than lists of topics"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise ValueError("not UTF-8 text; save it as UTF-8") from e


def read_document(path: Path) -> Document:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        Raised if the file cannot be read, or is not YAML.
    """
    try:
        text = read_text(path)
    except ValueError as e:
        raise _to_error(str(path), None, str(e)) from e
    with _said_by_yaml(str(path), text):
        return _Reader(text).read(str(path))


def read_documents(text: str, name: str) -> Iterator[Document]:
    """Yield the documents of a YAML file, without those that are empty.

    Parameters
    ----------
    text
        The file.
    name
        Its name, for messages.

    Raises
    ------
    ConfigError
        Raised if it is not YAML.
    """
    with _said_by_yaml(name, text):
        yield from _Reader(text).read_all(name)


@contextmanager
def _said_by_yaml(name: str, text: str) -> Iterator[None]:
    """Say what PyYAML finds with the line, and without what the file holds."""
    try:
        yield
    except yaml.MarkedYAMLError as e:
        line = e.problem_mark.line + 1 if e.problem_mark else None
        reason = QUOTED.sub("...", e.problem or "cannot be parsed")
        raise _to_error(name, line, f"not YAML: {reason}") from e
    except yaml.reader.ReaderError as e:
        number = text.count("\n", 0, e.position) + 1
        raise _to_error(
            name, number, "not YAML: forbidden characters; remove them"
        ) from e
    except RecursionError as e:
        raise _to_error(name, 1, "not YAML: nested too deeply") from e


def _to_error(name: str, line: int | None, message: str) -> ConfigError:
    problem = PlacedProblem(file=name, line=line, path="", message=message)
    return ConfigError(str(problem), [problem])


UNUSABLE = re.compile("[\ud800-\udfff\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Characters in no name, path or password: surrogate halves, controls."""

KNOWN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in (
        *("null", "bool", "int", "float", "str", "timestamp"),
        *("seq", "map", "merge", "value"),
    )
)


DEEPEST = 100
"""Brackets within brackets: what PyYAML takes grows with their square."""


class _Loader(yaml.SafeLoader):
    def fetch_flow_collection_start(self, token: Any) -> None:
        if self.flow_level >= DEEPEST:
            raise RecursionError
        super().fetch_flow_collection_start(token)


def _remember_text(value: Any, text: str) -> Any:
    """Return a value that knows how it is written, where that may matter."""
    written: WrittenInt | WrittenFloat
    if type(value) is int and str(value) != text:
        written = WrittenInt(value)
    elif type(value) is float and str(value) != text:
        written = WrittenFloat(value)
    else:
        return value
    written.text = text
    return written


class _Reader:
    def __init__(self, text: str) -> None:
        self._loader = _Loader(text)
        self._lines: dict[YamlPath, int] = {(): 1}
        self._problems: list[ConfigProblem] = []
        self._merged: dict[int, list[tuple[yaml.Node, yaml.Node]]] = {}
        self._left = MOST_VALUES

    def read(self, name: str) -> Document:
        try:
            node = self._loader.get_single_node()
            data = None if node is None else self._build(node, (), ())
        finally:
            self._loader.dispose()
        return Document(
            name=name, data=data, lines=self._lines, problems=self._problems
        )

    def read_all(self, name: str) -> Iterator[Document]:
        try:
            while (
                self._loader.check_node()
                and (node := self._loader.get_node()) is not None
            ):
                self._lines = {(): node.start_mark.line + 1}
                self._problems, self._merged = [], {}
                data = self._build(node, (), ())
                if data is not None or self._problems:
                    yield Document(
                        name=name,
                        data=data,
                        lines=self._lines,
                        problems=self._problems,
                    )
        finally:
            self._loader.dispose()

    def _complain(self, path: YamlPath, message: str) -> None:
        self._problems.append(ConfigProblem(path, message))

    def _build(
        self, node: yaml.Node, path: YamlPath, above: tuple[yaml.Node, ...]
    ) -> Any:
        if node in above:
            self._complain(path, "contains itself; write it out")
            return None
        self._left -= 1
        if self._left < 0:
            raise yaml.MarkedYAMLError(
                problem=f"more than {MOST_VALUES} values; aliases count each "
                "time that they are used",
                problem_mark=node.start_mark,
            )
        above = (*above, node)
        if node.tag not in KNOWN_TAGS:
            self._complain(path, "has a tag (!...); remove it")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._build_mapping(node, path, above)
        if isinstance(node, yaml.SequenceNode):
            return self._build_sequence(node, path, above)
        return self._build_scalar(node, path)

    def _build_sequence(
        self,
        node: yaml.SequenceNode,
        path: YamlPath,
        above: tuple[yaml.Node, ...],
    ) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            inner = (*path, index)
            self._lines[inner] = item.start_mark.line + 1
            items.append(self._build(item, inner, above))
        return items

    def _build_scalar(self, node: yaml.Node, path: YamlPath) -> Any:
        if UNUSABLE.search(node.value):
            self._complain(path, "holds control characters; remove them")
            return None
        try:
            value = self._loader.construct_object(node)
        except (AttributeError, LookupError, ValueError):
            # A date such as 2026-99-99, which is text to us anyway.
            return node.value
        return _remember_text(value, node.value)

    def _build_mapping(
        self,
        node: yaml.MappingNode,
        path: YamlPath,
        above: tuple[yaml.Node, ...],
    ) -> dict[str, Any]:
        result = {}
        for key, value in self._merge(node, path, above[:-1]):
            # Aliases and properties are text even where YAML sees a number.
            name = str(key.value)
            inner = (*path, name)
            self._lines[inner] = key.start_mark.line + 1
            result[name] = self._build(value, inner, above)
        return result

    def _merge(
        self,
        node: yaml.MappingNode,
        path: YamlPath,
        above: tuple[yaml.Node, ...],
    ) -> list[tuple[yaml.Node, yaml.Node]]:
        """Return keys and values, those of other mappings (<<) first."""
        if id(node) in self._merged:
            return self._merged[id(node)]
        if node in above:
            self._complain(path, "contains itself; write it out")
            return []
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or UNUSABLE.search(
                key.value
            ):
                self._complain(path, "has a key that is no text; write a name")
            elif key.tag == "tag:yaml.org,2002:merge":
                for pair in self._read_merged(value, path, (*above, node)):
                    merged.setdefault(pair[0].value, pair)
            elif key.value in own:
                first = own[key.value][0].start_mark.line + 1
                self._lines[*path, key.value] = key.start_mark.line + 1
                self._complain(
                    (*path, key.value),
                    f"the key is there twice, first in line {first}",
                )
                own[key.value] = (key, value)
            else:
                own[key.value] = (key, value)
        self._merged[id(node)] = list((merged | own).values())
        return self._merged[id(node)]

    def _read_merged(
        self, value: yaml.Node, path: YamlPath, above: tuple[yaml.Node, ...]
    ) -> Iterator[tuple[yaml.Node, yaml.Node]]:
        """Yield keys and values of what a mapping takes over."""
        listed = isinstance(value, yaml.SequenceNode)
        for part in value.value if listed else [value]:
            if isinstance(part, yaml.MappingNode):
                yield from self._merge(part, path, above)
            else:
                self._complain(path, "<< takes mappings only; remove it")


REFERENCE = re.compile(r"\$(?P<escaped>\$)?\{(?P<kind>\w+):(?P<name>[^}]*)\}")
"""A reference. ``${topic}`` of a naming format has no colon, so it is none;
``$${env:X}`` stands for the text ``${env:X}``."""


class ReferenceFailedError(ValueError):
    """A reference leads nowhere. The message names it, never a value."""


def resolve(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Put the values in the place of the references in a text.

    Parameters
    ----------
    text
        Text that may hold references.
    environment
        Environment variables, by default those of the process.

    Raises
    ------
    ReferenceFailedError
        Raised if a variable is not set, or a file cannot be read.
    """
    known = os.environ if environment is None else environment
    parts: list[str] = []

    def replace(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match[0][1:]
        value = _look_up(match[0], match["kind"], match["name"], known)
        if UNUSABLE.search(value):
            raise ReferenceFailedError(
                f"{match[0]}: holds control characters; remove them"
            )
        parts.append(value)
        return value

    resolved = REFERENCE.sub(replace, text)
    return Referenced(resolved, parts) if parts else resolved


def find_referenced_files(data: Any) -> Iterator[Path]:
    """Yield the files of all references ``${file:/path}``."""
    match data:
        case dict():
            for value in data.values():
                yield from find_referenced_files(value)
        case list() | tuple():
            for value in data:
                yield from find_referenced_files(value)
        case str():
            for match in REFERENCE.finditer(data):
                if match["kind"] == "file" and not match["escaped"]:
                    yield Path(match["name"])
        case _:
            pass


def _look_up(
    reference: str, kind: str, name: str, environment: Mapping[str, str]
) -> str:
    match kind:
        case "env":
            if name not in environment:
                raise ReferenceFailedError(
                    f"{reference}: the environment variable is not set"
                )
            return environment[name]
        case "file":
            try:
                # Files made by editors and `echo` end in a line feed.
                return read_text(Path(name)).rstrip("\r\n")
            except ValueError as e:
                raise ReferenceFailedError(f"{reference}: {e}") from e
        case _:
            raise ReferenceFailedError(
                f"{reference}: unknown kind of reference; "
                "allowed are ${env:NAME} and ${file:/path}"
            )


PLAIN = {
    "missing": "is missing, and is required",
    "string_type": "must be text (numbers and dates need quotes)",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number",
    "string_pattern_mismatch": "must have letters, digits, '.', '_' and '-' "
    "only, and at most 249 of them",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "finite_number": "must be a finite number",
    "path_type": "must be the path of a file",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "byte_size": "must be a size in bytes, such as 100000 or 512KiB",
    "byte_size_unit": "must be a size in bytes, such as 100000 or 512KiB",
}
"""Our words for pydantic's types of errors."""

BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}

MILLISECONDS = re.compile("(?<=[0-9])000 microseconds")
"""The end of what pydantic calls a tenth of a second."""

BLOCKS = {"dict_type", "model_type", "tuple_type"}
"""Errors where a scalar stands in a block's place. What it was meant for is
not known, so it is not shown."""

VALUELESS = {"missing", "extra_forbidden", NEVER_SHOWN}
"""Errors where the value is beside the point, or secret."""

WITHOUT_REASON = {"pattern": "not a usable regex; correct it"}
"""Shown where a value is secret and the reason may quote it."""

FOLLOWING = {"default_factory_not_called"}
"""Errors that only follow from another one."""


def translate(
    error: ValidationError, data: Any, model: type[Model]
) -> list[ConfigProblem]:
    """Translate pydantic's errors.

    Parameters
    ----------
    error
        Error of pydantic.
    data
        Data that it was given, for the values and to know which keys exist.
    model
        Model of the whole.
    """
    details = error.errors(include_url=False, include_input=False)
    problems: list[ConfigProblem] = []
    for detail in details:
        inner = detail.get("ctx", {}).get("error")
        if isinstance(inner, ProblemsError):
            problems += [
                show_value(replace(p, path=detail["loc"] + p.path), data)
                for p in inner.problems
            ]
        elif not _follows(detail, details):
            problems.append(_translate_one(detail, data, model))
    return problems


def _find_value(data: Any, path: YamlPath) -> tuple[YamlPath, Any]:
    """Return the value at a path, or the scalar that stands in its way."""
    for depth, part in enumerate(path):
        if not isinstance(data, dict | list):
            return path[:depth], data
        try:
            data = data[part]  # type: ignore[index]
        except (KeyError, IndexError):
            return path, None
    return path, data


def _is_secret(path: YamlPath, value: Any) -> bool:
    """Return whether a value must not be shown."""
    return (
        isinstance(value, Referenced)
        or (isinstance(value, str) and not may_quote(value))
        or any(isinstance(part, str) and looks_secret(part) for part in path)
    )


def _follows(detail: ErrorDetails, others: Sequence[ErrorDetails]) -> bool:
    """Return whether an error only follows from another."""
    loc = detail["loc"]
    return detail["type"] in FOLLOWING or (
        # A list whose only item is wrong counts as empty.
        detail["type"] == "too_short"
        and any(o["loc"][: len(loc)] == loc != o["loc"] for o in others)
    )


def _translate_one(
    detail: ErrorDetails, data: Any, model: type[Model]
) -> ConfigProblem:
    kind, loc = detail["type"], detail["loc"]
    context = detail.get("ctx", {})
    inner = context.get("error")
    if kind == "extra_forbidden":
        message = _describe_unknown(loc, model)
    elif kind == "literal_error":
        message = f"must be {context['expected']}"
    elif kind in BOUNDS:
        key, words = BOUNDS[kind]
        bound = MILLISECONDS.sub("ms", str(context[key]))
        message = f"must be {words} {bound}"
    elif inner is not None:
        message = str(inner)
    else:
        message = PLAIN.get(kind, detail["msg"])
    shown = kind not in VALUELESS | BLOCKS
    problem = ConfigProblem(loc, message, shows_value=shown)
    return show_value(problem, data, WITHOUT_REASON.get(kind))


MOST_SHOWN = 200
"""Characters of a value in an error."""


def show_value(
    problem: ConfigProblem, data: Any, if_secret: str | None = None
) -> ConfigProblem:
    """Add the value if it is a scalar and no secret."""
    path, value = _find_value(data, problem.path)
    message = problem.message
    if _is_secret(path, value):
        message = if_secret or message
    elif problem.shows_value and isinstance(value, str | int | float):
        shown = repr(value)
        if len(shown) > MOST_SHOWN:
            shown = f"{shown[:MOST_SHOWN]}..."
        message += f" (is {shown})"
    return ConfigProblem(path, message)


def _describe_unknown(loc: YamlPath, model: type[Model]) -> str:
    known = sorted(_model_at(model, loc[:-1]).model_fields)
    near = difflib.get_close_matches(str(loc[-1]), known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown key; {hint}allowed are {', '.join(known)}"


def _model_at(model: type[Model], loc: YamlPath) -> type[Model]:
    """Return the model of the block at a path."""
    found: Any = model
    for part in loc:
        block = find_block(found)
        if block is not None:
            found = block.model_fields[str(part)].annotation
        else:
            # A tuple's items, or a dictionary's values.
            found = [a for a in get_args(found) if a is not Ellipsis][-1]
        if NoneType in get_args(found):
            found = next(a for a in get_args(found) if a is not NoneType)
    block = find_block(found)
    assert block is not None  # noqa: S101 - only blocks refuse keys
    return block


M = TypeVar("M", bound=Model)


def load(
    model: type[M],
    document: Document,
    check_parts: Callable[[Any], Sequence[ConfigProblem]],
) -> M:
    """Validate a document.

    Parameters
    ----------
    model
        Model of the whole.
    document
        Document that was read.
    check_parts
        Checks the rules between those parts that are right, where others
        are wrong, so that nobody has to fix one problem to see the next.

    Raises
    ------
    ConfigError
        Raised with all problems.
    """
    problems = list(document.problems)
    data = _resolve_all(_content(document), (), problems)
    unresolved = {p.path for p in problems}
    loaded, found = _validate(model, data, check_parts)
    problems += [p for p in found if p.path not in unresolved]
    if problems or loaded is None:
        raise document.to_error(problems) from None
    _hide(data, loaded)
    return loaded


def load_unfollowed(
    model: type[M],
    document: Document,
    check_parts: Callable[[Any], Sequence[ConfigProblem]],
) -> tuple[M | None, tuple[YamlPath, ...]]:
    """Validate what stands in a document, and follow no reference.

    Parameters
    ----------
    model, document, check_parts
        As for `load`.

    Returns
    -------
    tuple
        The model with references as they stand, `None` where it
        cannot be made so; and the paths of these references.

    Raises
    ------
    ConfigError
        Raised with all problems of the rest.
    """
    left: list[ConfigProblem] = []
    data = _resolve_all(_content(document), (), left, _leave)
    unfollowed = tuple(p.path for p in left)
    loaded, found = _validate(model, data, check_parts)
    problems = [
        *document.problems,
        *(
            p
            for p in found
            if p.message == SHOWN_TO_ALL or not _is_below(p.path, unfollowed)
        ),
    ]
    if problems:
        raise document.to_error(problems)
    return loaded, unfollowed


def _is_below(path: YamlPath, others: Iterable[YamlPath]) -> bool:
    """Return whether a path is one of others, or below one of them."""
    return any(path[: len(other)] == other for other in others)


def _content(document: Document) -> Any:
    if document.data is None:
        raise document.to_error(
            [ConfigProblem((), "is empty; needed are clusters and flows")]
        )
    return document.data


def _validate(
    model: type[M],
    data: Any,
    check_parts: Callable[[Any], Sequence[ConfigProblem]],
) -> tuple[M | None, list[ConfigProblem]]:
    try:
        return model.model_validate(data), []
    except ValidationError as e:
        # It is not kept: pydantic's error may quote values.
        found = translate(e, data, model)
        found += [show_value(p, data) for p in check_parts(data)]
        return None, found


def _hide(data: Any, loaded: Model) -> None:
    """Show nowhere what references stand for, and no secret.

    What the file says elsewhere in the clear is nothing to hide: a flow's
    source may be a reference, and is the alias of a cluster all the same.
    """
    secrets = set(_find_secrets(loaded))
    texts = list(_find_texts(data))
    clear = {t for t in texts if not isinstance(t, Referenced)} - secrets
    referenced = [t for t in texts if isinstance(t, Referenced)]
    parts = {part for t in referenced for part in t.parts} - clear
    never_show(secrets | parts, clear)


def _find_texts(data: Any) -> Iterator[str]:
    """Yield keys and values, but for those of secret keys."""
    match data:
        case dict():
            for key, value in data.items():
                yield key
                if not (looks_secret(key) and type(value) is str):
                    yield from _find_texts(value)
        case list() | tuple():
            for item in data:
                yield from _find_texts(item)
        case str():
            yield data
        case _:
            pass


def _find_secrets(value: Any) -> Iterator[str]:
    """Yield values that are secret by their key."""
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case Model():
            for _, part in value:
                yield from _find_secrets(part)
        case Mapping():
            secret = getattr(value, "plain_secrets", ())
            yield from (value[key] for key in secret)
            for part in value.values():
                yield from _find_secrets(part)
        case tuple():
            for part in value:
                yield from _find_secrets(part)
        case _:
            pass


def _leave(text: str) -> str:
    """Leave a reference as it is."""
    if any(not match["escaped"] for match in REFERENCE.finditer(text)):
        raise ReferenceFailedError(text)
    return resolve(text, {})


def _resolve_all(
    value: Any,
    path: YamlPath,
    problems: list[ConfigProblem],
    resolve_one: Callable[[str], str] = resolve,
) -> Any:
    """Put the values in the place of all references."""
    match value:
        case dict():
            return {
                k: _resolve_all(v, (*path, k), problems, resolve_one)
                for k, v in value.items()
            }
        case list() | tuple():
            return [
                _resolve_all(v, (*path, i), problems, resolve_one)
                for i, v in enumerate(value)
            ]
        case str():
            try:
                return resolve_one(value)
            except ReferenceFailedError as e:
                problems.append(ConfigProblem(path, str(e)))
                # No empty text, which may be no value at all.
                return Referenced(value)
        case _:
            return value
