"""Files of secrets and certificates that are replaced while the agent runs."""

from collections.abc import Callable, Collection
from hashlib import sha256
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from .config import Config
from .config.notes import check_clients
from .exceptions import MirrorwatchError

__all__ = ["LOOK_SECONDS", "Rotation", "SecretFiles"]

LOOK_SECONDS = 5.0
"""Between two looks at the files: a few, of a few kB each. Two looks find the
same before it counts, as some write a file in place."""

Contents = dict[Path, bytes | None]


class SecretFiles:
    """Looks at what some files hold.

    Parameters
    ----------
    files
        The files. They are compared by content: Kubernetes replaces them by
        links, and others write them anew as they were.
    """

    def __init__(self, files: Collection[Path]) -> None:
        self._files = files
        self._used = self._read()
        self._last = self._used

    def look(self) -> list[Path]:
        """Return the files that hold something else than before, for two
        looks now. They are told once.
        """
        last, self._last = self._last, self._read()
        if self._last != last or self._last == self._used:
            return []
        changed = [p for p in self._files if last[p] != self._used[p]]
        self._used = last
        return sorted(changed)

    def _read(self) -> Contents:
        return {file: _digest(file) for file in self._files}


def _digest(file: Path) -> bytes | None:
    try:
        return sha256(file.read_bytes()).digest()
    except OSError:
        return None  # librdkafka takes folders of certificates, too


class Rotation:
    """Says when the agent must start again to use other secrets.

    Parameters
    ----------
    config
        The configuration in use.
    logger
        Logger of changes, by the names of files only.
    check
        Raises a `MirrorwatchError` if an agent cannot be made of a
        configuration.
    """

    def __init__(
        self,
        config: Config,
        logger: FilteringBoundLogger,
        check: Callable[[Config], None] = check_clients,
    ) -> None:
        self._config = config
        self._logger = logger
        self._check = check
        self._files = SecretFiles(config.secret_files)
        self._is_due = False

    def look(self, *, asked: bool = False, busy: bool = False) -> bool:
        """Return whether to start again now.

        Parameters
        ----------
        asked
            Restart was asked for, whatever the files hold.
        busy
            Restart has to wait.

        Notes
        -----
        What cannot be used is logged, and what is in use stays.
        """
        changed = self._files.look()
        if (changed or asked) and self._can_be_used():
            self._is_due = True
            self._logger.info(
                "Configuration changed, starting again",
                files=[str(file) for file in changed],
            )
        if not self._is_due or busy:
            return False
        # While it waited, somebody may have written on.
        self._is_due = self._can_be_used()
        return self._is_due

    def _can_be_used(self) -> bool:
        file = self._config.file
        if file is None:
            return False
        try:
            self._check(Config.from_file(file))
        except MirrorwatchError as e:
            self._logger.warning(
                "Changed configuration cannot be used, the old one stays",
                **e.to_logging_context(),
            )
            return False
        return True
