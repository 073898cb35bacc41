"""Reads ``mm2.properties`` of a dedicated MirrorMaker 2."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from javaproperties import InvalidUEscapeError, KeyValue, parse

from ..config.base import read_text
from ..domain.topics import split_patterns
from ..exceptions import ConfigError
from .model import FoundMirror, Place, Setting, SourceFilter

__all__ = [
    "find_dedicated_mirrors",
    "parse_properties",
]

CLIENTS = re.compile(r"(?:consumer|producer|admin)\..*")
"""Settings of one kind of client; those of the worker and of all clients
have other names."""

SECURITY = re.compile(r"(?:bootstrap\.servers|security\..*|sasl\..*|ssl\..*)")
"""Settings that clusters inherit from the top of the file
(``MirrorClientConfig``)."""

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
        Raised with the line of an invalid escape.
    """
    found, line = {}, 1
    try:
        for part in parse(text):
            if isinstance(part, KeyValue):
                place = Place(name, line, part.key)
                found[part.key] = Setting(part.value, place)
            line += part.source.count("\n")
    except InvalidUEscapeError as e:
        raise ConfigError(
            f"{name}:{line}: a \\u needs four hexadecimal digits; write \\\\u "
            "for the two characters"
        ) from e
    return found


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
