"""Classes that a JVM need not load and verify again: half its start."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Archive"]

_BESIDE_AGENT = (
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+AllowArchivingWithJavaAgent",
)
"""Java would not archive what runs beside an agent otherwise; Jolokia does
not change classes, which is what that is about."""


class Archive:
    """A class data archive of one program, made by its first orderly stop.

    Parameters
    ----------
    cache
        Folder that keeps archives, for all labs of this user.
    made_of
        Everything that it depends on: version of Java, class path, program.
    folder
        Folder of the program, where a new archive is written first.
    beside_agent
        Whether the program runs with Jolokia in it.

    Notes
    -----
    On two cores, a broker that starts with one needs 1.1 s instead of 2.1 s,
    and a whole lab a third less work.
    Java checks that it fits, and goes on without it if it does not.
    """

    def __init__(
        self,
        *,
        cache: Path,
        made_of: Sequence[str],
        folder: Path,
        beside_agent: bool = False,
    ) -> None:
        self._options = _BESIDE_AGENT if beside_agent else ()
        digest = hashlib.sha256("\n".join(made_of).encode()).hexdigest()
        self._kept = cache / f"{digest[:24]}.jsa"
        self._made = folder / "classes.jsa"
        self.wanted = not self._kept.exists()
        """Whether it has yet to be made, by stopping in good order."""

    def options(self) -> list[str]:
        """Return the options for Java: to use it, or to make it."""
        if self.wanted:
            return [*self._options, f"-XX:ArchiveClassesAtExit={self._made}"]
        return self.read_options()

    def read_options(self) -> list[str]:
        """Return the options for Java to use it, if it is there."""
        if self.wanted:
            return []
        return [*self._options, f"-XX:SharedArchiveFile={self._kept}"]

    def keep(self) -> None:
        """Put what was made where the next lab finds it."""
        if not self._made.exists():
            return
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        # Complete under its name or not there: labs may start meanwhile.
        with tempfile.NamedTemporaryFile(
            dir=self._kept.parent, prefix=".keeping-", delete=False
        ) as file:
            pass
        copy = Path(file.name)
        try:
            shutil.copyfile(self._made, copy)
            copy.rename(self._kept)
        finally:
            copy.unlink(missing_ok=True)
        self._made.unlink()
