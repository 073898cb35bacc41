"""Reads ``mm2.properties`` of a dedicated MirrorMaker 2."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..config.base import read_text
from ..domain.topics import split_patterns
from ..exceptions import ConfigError
from .model import FoundMirror, Place, Setting, SourceFilter

__all__ = [
    "STORAGE",
    "escape_value",
    "find_dedicated_mirrors",
    "parse_properties",
]

SPACE = " \t\f"

ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

CLIENTS = re.compile(r"(?:consumer|producer|admin)\..*")
"""Settings of one kind of client; those of the worker and of all clients
have other names."""

SECURITY = re.compile(r"(?:bootstrap\.servers|security\..*|sasl\..*|ssl\..*)")
"""What clusters take from the top of the file (``MirrorClientConfig``)."""

STORAGE = {
    "offsets": "offset.storage.topic",
    "configs": "config.storage.topic",
    "status": "status.storage.topic",
}


def parse_properties(text: str, name: str) -> dict[str, Setting]:
    """Read properties as Java does: comments, escapes, continued lines.

    Parameters
    ----------
    text
        The file.
    name
        Its name, for messages.

    Raises
    ------
    ConfigError
        Raised with the line of an escape that is none.
    """
    found = {}
    for number, line in _logical_lines(text):
        key, value = _split_line(line)
        place = Place(name, number, "")
        key, value = _unescape(key, place), _unescape(value, place)
        found[key] = Setting(value, place._replace(key=key))
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    gathered, begin = "", 0
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        part = line.lstrip(SPACE)
        if not begin and (not part or part[0] in "#!"):
            continue
        begin = begin or number
        slashes = len(part) - len(part.rstrip("\\"))
        if slashes % 2:
            gathered += part[:-1]
            continue
        if gathered + part:
            yield begin, gathered + part
        gathered, begin = "", 0
    if gathered:
        yield begin, gathered


def _split_line(line: str) -> tuple[str, str]:
    r"""Split at the first ``=``, ``:`` or white space without a backslash."""
    match = re.match(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", line)
    assert match is not None  # noqa: S101 - all of it is optional
    return match[1], line[match.end() :]


def _unescape(text: str, place: Place) -> str:
    r"""Read ``\n``, ``\u0041`` and ``\x``, which stands for ``x``."""

    def read(match: re.Match[str]) -> str:
        found = match[1]
        if found[0] != "u":
            return ESCAPES.get(found, found)
        if len(found) != 5:
            raise ConfigError(
                f"{place.file}:{place.line}: a \\u needs four hexadecimal "
                "digits; write \\\\u for the two characters"
            )
        return chr(int(found[1:], 16))

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|.)", read, text, flags=re.DOTALL)


def escape_value(value: str) -> str:
    """Write a value as it stands in a file of properties."""
    text = value.replace("\\", "\\\\")
    return f"\\{text}" if text.startswith(" ") else text


def find_dedicated_mirrors(path: Path) -> Sequence[FoundMirror]:
    """Return the flows of a dedicated MirrorMaker 2.

    Parameters
    ----------
    path
        Its file of properties.

    Raises
    ------
    ConfigError
        Raised if it cannot be read, or configures no flow.
    """
    try:
        text = read_text(path)
    except ValueError as e:
        raise ConfigError(f"{path}: {e}") from e
    properties = parse_properties(text, str(path))
    if "clusters" not in properties:
        raise ConfigError(
            f"{path}: clusters is missing: a file of connect-mirror-maker.sh "
            "names its clusters; is this one?"
        )
    aliases = split_patterns(properties["clusters"].value)
    mirrors = [
        _to_mirror(properties, source, target)
        for source in aliases
        for target in aliases
        if source != target and _is_enabled(properties, source, target)
    ]
    if not mirrors:
        pair = f"{'->'.join(aliases[:2])}.enabled"
        raise ConfigError(
            f"{properties['clusters'].place}: no flow is enabled; MirrorMaker "
            f"replicates nothing without a line such as {pair} = true"
        )
    return mirrors


def _is_true(setting: Setting | None, default: str) -> bool:
    value = default if setting is None else setting.value
    return value.strip().lower() == "true"


def _is_enabled(
    properties: Mapping[str, Setting], source: str, target: str
) -> bool:
    """Return whether records are copied.

    Notes
    -----
    A herder is there for its heartbeats even without ``A->B.enabled``, and
    then ``enabled`` at the top of the file is what counts
    (``MirrorMakerConfig.clusterPairs`` and ``connectorBaseConfig``).
    """
    own = f"{source}->{target}."
    beats = "emit.heartbeats.enabled"
    if f"{own}enabled" in properties:
        return _is_true(properties[f"{own}enabled"], "false")
    return _is_true(
        properties.get(f"{own}{beats}", properties.get(beats)), "true"
    ) and _is_true(properties.get("enabled"), "false")


def _below(
    properties: Mapping[str, Setting], prefix: str
) -> dict[str, Setting]:
    return {
        key.removeprefix(prefix): setting
        for key, setting in properties.items()
        if key.startswith(prefix)
    }


def _of_cluster(
    properties: Mapping[str, Setting], alias: str
) -> dict[str, Setting]:
    common = {k: v for k, v in properties.items() if SECURITY.fullmatch(k)}
    return common | _below(properties, f"{alias}.")


def _to_mirror(
    properties: Mapping[str, Setting], source: str, target: str
) -> FoundMirror:
    place = properties["clusters"].place
    worker = _of_cluster(properties, target)
    merged = dict(properties)
    for side, alias in (("source", source), ("target", target)):
        own = _of_cluster(properties, alias)
        merged |= {
            (f"{side}." if CLIENTS.fullmatch(k) else f"{side}.cluster.") + k: v
            for k, v in own.items()
        }
        merged.setdefault(f"{side}.cluster.alias", Setting(alias, place))
    own = _below(properties, f"{source}->{target}.")
    merged |= own
    key = f"{source}->{target}.topics"
    # A line at the top of the file goes for all flows; one of them has it.
    topics = merged.get("topics", Setting("", place))
    stated = properties.get(f"{source}->{target}.enabled")
    return FoundMirror(
        place=place if stated is None else stated.place,
        settings=merged,
        dedicated=True,
        filter=SourceFilter(place=topics.place, kind="property", key=key),
        topics={
            kind: found
            for kind, key in STORAGE.items()
            if (found := worker.get(key, properties.get(key))) is not None
        },
    )
