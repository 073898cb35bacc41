"""Fetching jars once, into a cache that all of a user's programs share."""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from .exceptions import MavenError
from .http import bounded_client

__all__ = ["Artifact", "cache_folder", "fetch", "parse_artifacts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """File of a Maven repository, nearly always a jar."""

    group: str
    name: str
    version: str
    """Version, never a range."""

    classifier: str = ""
    """Classifier, where the jar has one."""

    extension: str = "jar"

    sha256: str
    """Expected checksum of the downloaded bytes."""

    @property
    def file_name(self) -> str:
        """Name of the jar, unique within the cache.

        The group is part of it, because two groups may have an artifact of
        one name and version.
        """
        return f"{self.group}.{self._jar}"

    @property
    def path(self) -> str:
        """Path in a Maven repository, relative to its address."""
        group = self.group.replace(".", "/")
        return f"{group}/{self.name}/{self.version}/{self._jar}"

    @property
    def _jar(self) -> str:
        tail = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{tail}.{self.extension}"


def parse_artifacts(text: str) -> tuple[Artifact, ...]:
    """Return the artifacts of a list.

    Parameters
    ----------
    text
        A line for each: ``group:name:version``, maybe ``:classifier``, then
        the checksum.
    """
    return tuple(_parse(line) for line in text.splitlines())


def _parse(line: str) -> Artifact:
    coordinates, sha256 = line.split()
    group, name, version, *rest = coordinates.split(":")
    return Artifact(
        group=group,
        name=name,
        version=version,
        classifier=rest[0] if rest else "",
        sha256=sha256,
    )


MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
"""Repository of the jars, unless MIRRORWATCH_MAVEN_URL names a mirror."""

_CONNECTIONS = 6
"""Jars fetched at once: enough to fill a link with many small files, few
enough to be polite to a public server."""

_TIMEOUT_SECONDS = 30
"""Longest silence of the server before a jar counts as not to be had."""

_DEADLINE_SECONDS = 3600.0
"""Longest that one jar may take, over a slow link."""

_MOST_BYTES = 2**29

_TRIES = 3
"""Tries for one jar: a dropped connection among a hundred is normal."""


def cache_folder() -> Path:
    """Return where jars (and what is made from them) are cached."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "mirrorwatch"


def fetch(
    artifacts: Sequence[Artifact], cache: Path, *, what: str = "Kafka"
) -> tuple[Path, ...]:
    """Return the path of each jar, fetching those that are not cached.

    Parameters
    ----------
    artifacts
        Jars that are wanted.
    cache
        Folder that keeps them, for all programs of this user.
    what
        Name of the jars, for the progress bar.

    Returns
    -------
    tuple of Path
        The jars, in the order of the artifacts.

    Raises
    ------
    MavenError
        Raised if a jar cannot be fetched or has the wrong checksum.

    Notes
    -----
    A jar appears in the cache under its name only when it is complete and
    its checksum was right (written beside it, then renamed), so any number
    of programs may fetch at once, and one killed halfway leaves nothing wrong.
    The checksum is compared at each use: one that was changed since, by a disk
    or by somebody, is fetched again and never run.
    """
    cache.mkdir(parents=True, exist_ok=True)
    missing = [
        jar for jar in artifacts if not _is_whole(cache / jar.file_name, jar)
    ]
    if missing:
        _fetch_all(missing, cache, what)
    return tuple(cache / jar.file_name for jar in artifacts)


def _is_whole(path: Path, jar: Artifact) -> bool:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return False
    return found == jar.sha256


def _fetch_all(missing: Sequence[Artifact], cache: Path, what: str) -> None:
    base = os.environ.get("MIRRORWATCH_MAVEN_URL") or MAVEN_CENTRAL
    progress = Progress(
        TextColumn(f"Fetching {what}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("jars"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    with (
        progress,
        bounded_client(
            timeout_seconds=_TIMEOUT_SECONDS,
            deadline_seconds=_DEADLINE_SECONDS,
            most_bytes=_MOST_BYTES,
            follow_redirects=True,
        ) as http,
        ThreadPoolExecutor(_CONNECTIONS) as pool,
    ):
        bar = progress.add_task("jars", total=len(missing))
        waiting = [
            pool.submit(_fetch_one, http, base.rstrip("/"), jar, cache)
            for jar in missing
        ]
        try:
            for done in as_completed(waiting):
                done.result()
                progress.advance(bar)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _fetch_one(
    http: httpx.Client, base: str, jar: Artifact, cache: Path
) -> None:
    content = _get(http, f"{base}/{jar.path}")
    found = hashlib.sha256(content).hexdigest()
    if found != jar.sha256:
        raise MavenError(
            f"{base}/{jar.path} has the checksum {found}, not {jar.sha256}: "
            "it is not the jar that this version of mirrorwatch needs"
        )
    with tempfile.NamedTemporaryFile(
        dir=cache, prefix=".fetching-", delete=False
    ) as file:
        file.write(content)
    Path(file.name).rename(cache / jar.file_name)


def _get(http: httpx.Client, url: str) -> bytes:
    for attempt in range(1, _TRIES + 1):
        try:
            answer = http.get(url)
            answer.raise_for_status()
        except httpx.HTTPError as e:
            if attempt < _TRIES and isinstance(e, httpx.TransportError):
                continue
            raise MavenError(
                f"Cannot fetch {url}: {e}. If Maven Central is not reachable "
                "from here, name a mirror of it in MIRRORWATCH_MAVEN_URL"
            ) from e
        return answer.content
    raise AssertionError(url)
