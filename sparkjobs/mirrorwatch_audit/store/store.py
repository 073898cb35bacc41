"""The folder that keeps all runs of a site.

``runs/<id>/plan.json``
    What is compared, and from where it goes on; stored before anything is
    read.
``runs/<id>/digests/source`` and ``.../target``
    Counts and checksums, Parquet.
``runs/<id>/carry``
    Records that the next night compares in place of this one, Parquet.
``runs/<id>/report.html``
    The report.
``runs/<id>/result.json``
    What was found; stored last. It is what makes a run count.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    Plan,
    Side,
    nights_by_day,
)
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError, AuditRefusedError
from mirrorwatch.state.audits import (
    from_versioned,
    latest_of,
    local_path,
    to_url,
    to_versioned,
    write_file,
)

from ..checkpoint import CHECKPOINTS
from ..session import is_missing_path, translated

__all__ = ["FrozenRun", "HadoopFolder", "RunStore"]


KEEP_DIGESTS = timedelta(days=14)
"""Retention of digests after their run: they are nearly all that it keeps, and
two weeks are time to look at one again by hand. A run that has not ended keeps
its own."""

_WHOLE = "_SUCCESS"
"""Marker file of Spark's committer beside a complete table."""

_PATTERN, _ESCAPED = re.compile(r"[\\{}\[\]*?]"), r"\\\g<0>"
"""Characters of a Hadoop path pattern, and their escape."""


class HadoopFolder:
    """Texts and tables, written and read by Spark.

    Parameters
    ----------
    session
        Spark.
    folder
        A path, or the URL of any Hadoop file system.

    Raises
    ------
    AuditError
        Raised by every method if the file system refuses.

    Notes
    -----
    A file is moved into its place when it is whole, so what can be read is
    what was written.
    """

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session = session
        self.url = to_url(folder)

    def write_text(self, name: str, text: str, *, anew: bool = False) -> bool:
        """Write a text, whole or not at all; return whether that was done.

        Parameters
        ----------
        name
            Name of the file.
        text
            Text to write.
        anew
            Nothing is written if the file already exists.
        """
        with translated(f"Cannot write {self._at(name)}"):
            files, path = self._hadoop(name)
            if anew and files.exists(path):
                return False
            new = self._hadoop(f"{name}.new")[1]
            stream = files.create(new, True)  # noqa: FBT003 - Java has none
            try:
                stream.write(bytearray(text, "utf-8"))
            finally:
                stream.close()
            if not anew:
                files.delete(path, False)  # noqa: FBT003
            # Of two at once only one can rename its own.
            return bool(files.rename(new, path))

    def write_table(
        self, name: str, table: DataFrame, *, failing: str | None = None
    ) -> None:
        """Write a table in place of what was there.

        Parameters
        ----------
        name
            Name of the table.
        table
            Table to write; it is worked out now.
        failing
            Beginning of the error message, where a failure is hardly one of
            writing.
        """
        with translated(failing or f"Cannot write {self._at(name)}"):
            # First, or what Spark has deleted in part would pass for whole.
            self.delete(f"{name}/{_WHOLE}")
            table.write.mode("overwrite").parquet(self._at(name))

    def read_table(self, name: str) -> DataFrame | None:
        """Read a table; `None` if there is none."""
        with translated(f"Cannot read {self._at(name)}"):
            try:
                return self._session.read.parquet(self._found(name))
            except AnalysisException as e:
                if is_missing_path(e):
                    return None
                raise

    def exists(self, name: str) -> bool:
        """Return whether there is a file or folder."""
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            return bool(files.exists(path))

    def size_bytes(self, name: str) -> int:
        """Return the size of all files of a text or table."""
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            return int(files.getContentSummary(path).getLength())

    def folders(self, name: str) -> Mapping[str, datetime]:
        """Return the folders in a folder, and when each was last changed.

        An object store has no folders, and may say that it was just now.
        """
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            found = files.listStatus(path) if files.exists(path) else []
            return {
                status.getPath().getName(): _time_of(status)
                for status in found
                if status.isDirectory()
            }

    def changed_at(self, name: str) -> datetime | None:
        """Return when a file was last written; `None` if there is none."""
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            if not files.exists(path):
                return None
            return _time_of(files.getFileStatus(path))

    def delete(self, name: str) -> None:
        """Delete a folder with all that is in it, if it is there."""
        with translated(f"Cannot delete {self._at(name)}"):
            files, path = self._hadoop(name)
            files.delete(path, True)  # noqa: FBT003 - Java has no keywords

    def read(self, name: str) -> str | None:
        """Return a text; `None` if there is none."""
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            if not files.exists(path):
                return None
            stream = files.open(path)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

    def _hadoop(self, name: str) -> tuple[Any, Any]:
        context = self._session.sparkContext
        java: Any = context._jsc.sc()  # noqa: SLF001 - no other way
        jvm: Any = context._jvm  # noqa: SLF001
        path = jvm.org.apache.hadoop.fs.Path(self._at(name))
        return path.getFileSystem(java.hadoopConfiguration()), path

    def _at(self, name: str) -> str:
        return f"{self.url}/{name}"

    def _found(self, name: str) -> str:
        """Return where Spark reads: it looks for patterns there, which the
        folder is not, and a name may be.
        """
        return f"{_PATTERN.sub(_ESCAPED, self.url)}/{name}"


def _time_of(status: Any) -> datetime:
    return datetime.fromtimestamp(status.getModificationTime() / 1000, tz=UTC)


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class FrozenRun:
    """Frozen run: the plan to compare, and the ends from which it goes on."""

    plan: Plan
    before: AuditedEnds
    """Up to where partitions were audited before it."""

    carried_from: str | None = None
    """Name of the run whose carry it takes up; `None` for the first, and for
    an ad hoc audit."""


class RunStore:
    """Keeps runs in a folder.

    Parameters
    ----------
    session
        Spark.
    folder
        A path, or the URL of any Hadoop file system.

    Raises
    ------
    AuditError
        Raised by every method if the folder cannot be used, or if another
        version wrote it.

    """

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._folder = HadoopFolder(session, folder)
        self._local = local_path(folder)

    def save_plan(self, run: FrozenRun) -> None:
        """Keep what a run compares, so that a run after a kill does too.

        Raises
        ------
        AuditRefusedError
            Raised if another audit has begun the same run meanwhile.
        """
        name = f"runs/{run.plan.id}"
        anew = not self._folder.exists(f"{name}/plan.json")
        if anew:
            # Those that are there are always of the plan beside them.
            self._folder.delete(f"{name}/digests")
        if not self._write(f"{name}/plan.json", to_versioned(run), anew=anew):
            raise AuditRefusedError(
                f"Another audit has begun {run.plan.id} in {self._folder.url}:"
                " let one at a time write there"
            )

    def plan(self, run: str) -> FrozenRun | None:
        """Return what a run compares; `None` if it never began."""
        return self._one(FrozenRun, f"runs/{run}/plan.json")

    def save_digest(
        self, run: str, side: Side, digest: DataFrame
    ) -> DataFrame:
        """Keep the digest of one side, and return it as it is kept: what is
        made of it then does not read the records again.
        """
        name = f"runs/{run}/digests/{side}"
        self._folder.write_table(
            name, digest, failing=f"Cannot sum up the {side}"
        )
        kept = self._folder.read_table(name)
        return digest if kept is None else kept

    def digest(
        self, run: str, side: Side, bucket: timedelta
    ) -> DataFrame | None:
        """Return the digest of one side if there is a whole one with buckets
        of this length.
        """
        name = f"runs/{run}/digests/{side}"
        if not self._folder.exists(f"{name}/{_WHOLE}"):
            return None
        length = bucket // timedelta(milliseconds=1)
        with suppress(AuditError):
            kept = self._folder.read_table(name)
            if kept is None:
                return None
            with translated(f"Cannot read the digest of {run}"):
                same = kept.where(sf.col("bucket_ms") != length).isEmpty()
            return kept if same else None
        return None

    def save_carry(self, run: str, carry: DataFrame) -> None:
        """Keep what a run leaves to the next night."""
        self._folder.write_table(f"runs/{run}/carry", carry)

    def carry(self, run: str) -> DataFrame | None:
        """Return what a run left to the next night; `None` if it is lost."""
        return self._folder.read_table(f"runs/{run}/carry")

    def carry_url(self, run: str) -> str:
        """Return the folder of what a run left to the next night."""
        return f"{self._folder.url}/runs/{run}/carry"

    def save_report(self, run: str, page: str) -> None:
        """Keep what a person looks at."""
        self._write(f"runs/{run}/report.html", page)

    def save_result(self, audit: FinishedAudit) -> None:
        """Keep what a run found. From now on it counts."""
        name = f"runs/{audit.result.id}/result.json"
        self._write(name, to_versioned(audit))

    def result(self, run: str) -> FinishedAudit | None:
        """Return what a run found; `None` if it did not come to its end."""
        return self._one(FinishedAudit, f"runs/{run}/result.json")

    def is_finished(self, run: str) -> bool:
        """Return whether a run came to its end."""
        return self._folder.exists(f"runs/{run}/result.json")

    def forget(self, now: datetime, keep: timedelta) -> None:
        """Delete runs that ended long ago, or that never will, and sooner
        the digests of those that stay.

        Parameters
        ----------
        now
            The time.
        keep
            Time for which runs are kept. The last night stays, for the next
            one goes on from it. Of a night that stays so do those of the day
            before, which left it a carry: it may be run again.
        """
        runs = self._folder.folders("runs")
        ended = {
            run: at
            for run in runs
            if (at := self._folder.changed_at(f"runs/{run}/result.json"))
        }
        recent = {run for run, at in ended.items() if at >= now - keep}
        stay, days = set(recent), nights_by_day(ended)
        for n, day in enumerate(days):
            if n == 0 or recent & {*day}:
                stay.update(day, *days[n + 1 : n + 2])
        last = self.last_night()
        for run, changed in runs.items():
            if run in ended and run in stay:
                if ended[run] < now - KEEP_DIGESTS:
                    self._folder.delete(f"runs/{run}/digests")
            elif run in ended or self._is_given_up(
                run, changed, now - keep, last
            ):
                self._folder.delete(f"runs/{run}")
        # What a run left that was killed on a cluster.
        for name, changed in self._folder.folders(CHECKPOINTS).items():
            if changed < now - KEEP_DIGESTS:
                self._folder.delete(f"{CHECKPOINTS}/{name}")

    def _is_given_up(
        self,
        run: str,
        changed: datetime,
        before: datetime,
        last: FrozenRun | None,
    ) -> bool:
        """Return whether an unfinished run began long ago and nothing goes on
        with it: a night does, until a later one has taken its records.
        """
        kept = self.plan(run)
        if kept is None:
            # Killed before its ranges were kept, or about to keep them.
            return changed < before
        taken = last is not None and last.plan.at >= kept.plan.at
        return kept.plan.at < before and (
            kept.plan.window is not None or taken
        )

    def last_night(self) -> FrozenRun | None:
        """Return the finished nightly run with the newest ranges."""
        audit = latest_of(self._folder.folders("runs"), self.result)
        if audit is None:
            return None
        run = self.plan(audit.result.id)
        if run is None:
            raise AuditError(
                f"{self._folder.url} has a result of {audit.result.id} and "
                "not its plan, so it is not known where to go on: put it back"
            )
        return run

    def _write(self, name: str, text: str, *, anew: bool = False) -> bool:
        if self._local is None:
            return self._folder.write_text(name, text, anew=anew)
        write_file(self._local / name, text)
        return True

    def _one(self, kind: type[T], name: str) -> T | None:
        text = self._folder.read(name)
        if text is None:
            return None
        return from_versioned(kind, text, f"{self._folder.url}/{name}")
