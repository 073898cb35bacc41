"""The folder that keeps all runs of a site.

``runs/<id>/plan``
    What is compared, and from where it goes on; stored before anything is
    read.
``runs/<id>/digests/source`` and ``.../target``
    Counts and checksums, Parquet.
``runs/<id>/carry``
    Records that the next night compares in place of this one, Parquet.
``runs/<id>/hours``
    Records by topic and hour, for the report.
``runs/<id>/result``
    What was found; stored last. It is what makes a run count.
``layout``
    `SCHEMA_VERSION`; runs of another one are set aside.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeVar

import structlog
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.audit.plan import AuditedEnds, Plan, Side
from mirrorwatch.domain.audit.result import FinishedAudit, Hours
from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audits import (
    SCHEMA_VERSION,
    from_versioned,
    local_path,
    to_url,
    to_versioned,
    write_audit,
    write_hours,
    write_report,
)

from ..checkpoint import CHECKPOINTS
from ..session import is_missing_path, translated

__all__ = ["FrozenRun", "HadoopFolder", "RunStore"]


KEEP_DIGESTS = timedelta(days=14)
"""How long digests are kept after their run: they are nearly all that it
keeps, and two weeks are time to look at one again by hand. A run that has not
ended keeps its own."""

LAYOUT = "layout"

_WHOLE = "_SUCCESS"
"""What Spark's committer puts beside a table that is whole."""

_PATTERN, _ESCAPED = re.compile(r"[\\{}\[\]*?]"), r"\\\g<0>"
"""What Hadoop takes for a part of a pattern, and how it does not."""


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
    Spark's committer moves a file into its place when it is whole, so what
    can be read is what was written. That is why a text is one file.
    """

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session = session
        self.url = to_url(folder)

    def write_text(self, name: str, text: str) -> None:
        """Write one line of text in place of what was there."""
        with translated(f"Cannot write {self._at(name)}"):
            line = self._session.range(1).select(sf.lit(text).alias("value"))
            writer = line.coalesce(1).write.mode("overwrite")
            writer.text(self._at(name))

    def read_texts(self, name: str, *, fields: str | None = None) -> list[str]:
        """Read lines of text.

        Parameters
        ----------
        name
            Where; `*` stands for any folder, `{a,b}` for one of two.
        fields
            What is of use of a line of JSON, in Spark's DDL; else all. Of
            thousands of lines the rest would not fit into memory.
        """
        with translated(f"Cannot read {self._at(name)}"):
            try:
                lines = self._session.read.text(self._found(name))
                if fields is not None:
                    some = sf.to_json(sf.from_json("value", fields))
                    lines = lines.select(some)
                rows = lines.collect()
            except AnalysisException as e:
                if is_missing_path(e):
                    return []
                raise
        return [row[0] for row in rows]

    def write_table(
        self, name: str, table: DataFrame, *, failing: str | None = None
    ) -> None:
        """Write a table in place of what was there.

        Parameters
        ----------
        name
            Where.
        table
            What; it is worked out now.
        failing
            What failed if it fails, where that is hardly the writing.
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

    def is_whole(self, name: str) -> bool:
        """Return whether a table was written to its end."""
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(f"{name}/{_WHOLE}")
            return bool(files.exists(path))

    def size_bytes(self, name: str) -> int:
        """Return the size of all files of a text or table."""
        with translated(f"Cannot read {self._at(name)}"):
            files = self._session.read.format("binaryFile")
            sizes = files.load(self._found(name)).select(sf.sum("length"))
            return int(sizes.collect()[0][0] or 0)

    def folders(self, name: str) -> Mapping[str, datetime]:
        """Return the folders in a folder, and when each was last changed.

        An object store has no folders, and may say that it was just now.
        """
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            found = files.listStatus(path) if files.exists(path) else []
            return {
                status.getPath().getName(): datetime.fromtimestamp(
                    status.getModificationTime() / 1000, tz=UTC
                )
                for status in found
                if status.isDirectory()
            }

    def delete(self, name: str) -> None:
        """Delete a folder with all that is in it, if it is there."""
        with translated(f"Cannot delete {self._at(name)}"):
            files, path = self._hadoop(name)
            files.delete(path, True)  # noqa: FBT003 - Java has no keywords

    def create(self, name: str, text: str, *, anew: bool = True) -> bool:
        """Write a small file; return whether that was done.

        Parameters
        ----------
        name
            Where.
        text
            What.
        anew
            Whether nothing is done if it is there already: one of several
            who try at once has done it, as far as the file system can tell.
        """
        with translated(f"Cannot write {self._at(name)}"):
            files, path = self._hadoop(name)
            try:
                stream = files.create(path, not anew)
            except Py4JJavaError as e:
                # Hadoop's own, or Java's, as the file system has it.
                if "AlreadyExistsException" in str(e.java_exception):
                    return False
                raise
            try:
                stream.write(bytearray(text, "utf-8"))
            finally:
                stream.close()
            return True

    def rename(self, name: str, new: str) -> bool:
        """Rename a file or folder; return whether it was there."""
        with translated(f"Cannot rename {self._at(name)}"):
            files, path = self._hadoop(name)
            if not files.exists(path):
                return False
            if not files.rename(path, self._hadoop(new)[1]):
                raise AuditError(f"Cannot rename {self._at(name)}")
            return True

    def read(self, name: str) -> str | None:
        """Return what is in a small file; `None` if it is not there."""
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            if not files.exists(path):
                return None
            stream = files.open(path)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

    def changed(self, name: str) -> datetime | None:
        """Return when a file was written, by the clock of its file system;
        `None` if it is not there.
        """
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            if not files.exists(path):
                return None
            at = files.getFileStatus(path).getModificationTime()
            return datetime.fromtimestamp(at / 1000, tz=UTC)

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


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class FrozenRun:
    """What one run compares, and from where it goes on."""

    plan: Plan
    before: AuditedEnds
    """Up to where partitions were audited before it."""

    carried_from: str | None = None
    """Name of the run whose carry it takes up; `None` for the first, and for
    an ad hoc audit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedRun:
    """A run that came to its end, without what it found."""

    id: str
    nightly: bool
    end: datetime
    ended_at: datetime
    partial: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ended:
    result: EndedRun


_ENDED = (
    "schema_version int, value struct<result: struct<id: string, "
    "nightly: boolean, end: string, ended_at: string, partial: boolean>>"
)


class RunStore:
    """Keeps runs in a folder.

    Parameters
    ----------
    session
        Spark.
    folder
        A path, or the URL of any Hadoop file system.
    still_held
        Raises if the folder is no longer held for what writes to it: it is
        asked before each write. Unless it is given, nobody else writes.

    Raises
    ------
    AuditError
        Raised by every method if the folder cannot be used, or if another
        version wrote it.

    Notes
    -----
    Which runs ended is read once, and then known of what this store keeps
    itself: of every hour there are thousands of results, each a file.
    """

    def __init__(
        self,
        session: SparkSession,
        folder: str,
        still_held: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder = HadoopFolder(session, folder)
        self._local = local_path(folder)
        self._still_held = still_held
        self._ended: dict[str, EndedRun] | None = None

    def begin(self) -> None:
        """Set runs of another layout aside, so that the first one of this
        layout begins anew.
        """
        files, layout = self._writable(), str(SCHEMA_VERSION)
        if files.read(LAYOUT) == layout:
            return
        for name in ("runs", "latest.json"):
            aside = f"{name}.unusable-{utc_now():%Y%m%dT%H%M%SZ}"
            if files.rename(name, aside):
                structlog.get_logger("mirrorwatch").warning(
                    "Audits of another layout were set aside",
                    path=f"{files.url}/{name}",
                    aside=f"{files.url}/{aside}",
                )
        files.create(LAYOUT, layout, anew=False)

    def save_plan(self, run: FrozenRun) -> None:
        """Keep what a run compares, so that a run after a kill does too.

        Notes
        -----
        Spark deletes what was there before it writes, so on a full disk a
        plan is lost. The next one has other ranges: digests of the old one
        are deleted before it is kept, and those that are there are always of
        the plan beside them. For the same reason nothing is written where
        the plan has not changed.
        """
        name, text = f"runs/{run.plan.id}", to_versioned(run)
        kept = self._folder.read_texts(f"{name}/plan")
        if kept == [text]:
            return
        if not kept:
            self._writable().delete(f"{name}/digests")
            # A local file system does not say that it failed.
            if self._folder.folders(f"{name}/digests"):
                raise AuditError(
                    f"Cannot delete {self._folder.url}/{name}/digests, which "
                    "are of a plan that was lost"
                )
        self._writable().write_text(f"{name}/plan", text)

    def plan(self, run: str) -> FrozenRun | None:
        """Return what a run compares; `None` if it never began."""
        return self._one(FrozenRun, f"runs/{run}/plan")

    def save_digest(
        self, run: str, side: Side, digest: DataFrame
    ) -> DataFrame:
        """Keep the digest of one side, and return it as it is kept: what is
        made of it then does not read the records again.
        """
        name = f"runs/{run}/digests/{side}"
        self._writable().write_table(
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
        if not self._folder.is_whole(name):
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
        self._writable().write_table(f"runs/{run}/carry", carry)

    def carry(self, run: str | None) -> DataFrame | None:
        """Return what a run left to the next night, if there was one."""
        if run is None:
            return None
        return self._folder.read_table(f"runs/{run}/carry")

    def carry_url(self, run: str) -> str:
        """Return the folder of what a run left to the next night."""
        return f"{self._folder.url}/runs/{run}/carry"

    def save_report(self, run: str, hours: Hours, page: str) -> None:
        """Keep what a person looks at."""
        self._writable().write_text(f"runs/{run}/hours", to_versioned(hours))
        if self._local is not None:
            write_hours(self._local, run, hours)
            write_report(self._local, run, page)

    def hours(self, run: str) -> Hours:
        """Return the records of a run by topic and hour."""
        return self._one(Hours, f"runs/{run}/hours") or Hours()

    def save_result(self, audit: FinishedAudit) -> None:
        """Keep what a run found. From now on it counts.

        First for people and the agent: the next night goes on behind a run
        that counts, so nobody would ever see what one found that was killed
        in between. One that does not count is carried out again.
        """
        if self._local is not None:
            self._still_held()
            write_audit(self._local, audit)
        name = f"runs/{audit.result.id}/result"
        self._writable().write_text(name, to_versioned(audit))
        if self._ended is not None:
            result = audit.result
            self._ended[result.id] = EndedRun(
                id=result.id,
                nightly=result.nightly,
                end=result.end,
                ended_at=result.ended_at,
                partial=result.partial,
            )

    def result(self, run: str) -> FinishedAudit | None:
        """Return what a run found; `None` if it did not come to its end."""
        return self._one(FinishedAudit, f"runs/{run}/result")

    def is_finished(self, run: str) -> bool:
        """Return whether a run came to its end."""
        return bool(self._folder.read_texts(f"runs/{run}/result"))

    def results(self) -> list[FinishedAudit]:
        """Return what all finished runs found, in no order."""
        name = "runs/*/result"
        return [
            from_versioned(FinishedAudit, text, f"{self._folder.url}/{name}")
            for text in self._folder.read_texts(name)
        ]

    def ended(self) -> list[EndedRun]:
        """Return which runs came to their end, in no order."""
        if self._ended is None:
            name = "runs/*/result"
            where = f"{self._folder.url}/{name}"
            found = [
                from_versioned(_Ended, text, where).result
                for text in self._folder.read_texts(name, fields=_ENDED)
            ]
            self._ended = {run.id: run for run in found}
        return [*self._ended.values()]

    def nights_before(self, end: datetime, most: int) -> list[FinishedAudit]:
        """Return what the newest nightly runs before one found, in no order.

        Parameters
        ----------
        end
            When its offsets were frozen.
        most
            How many at most.
        """
        nights = [run for run in self.ended() if run.nightly and run.end < end]
        newest = sorted(nights, key=attrgetter("end"))[-most:]
        if not newest:
            return []
        name = f"runs/{{{','.join(run.id for run in newest)}}}/result"
        return [
            from_versioned(FinishedAudit, text, f"{self._folder.url}/{name}")
            for text in self._folder.read_texts(name)
        ]

    def forget(self, now: datetime, keep: timedelta) -> None:
        """Delete runs that ended long ago, or that never will, and sooner
        the digests of those that stay.

        Parameters
        ----------
        now
            The time.
        keep
            How long runs are kept. The last night stays, for the next one
            goes on from it. Before each that stays so does the one whose
            carry it took up: it may be run again.
        """
        before = now - keep
        results = self.ended()
        self._forget_digests(results, now - KEEP_DIGESTS)
        nights = sorted(
            (r for r in results if r.nightly), key=attrgetter("end")
        )
        stay = {r.id for r in results if r.ended_at >= before}
        stay |= {night.id for night in nights[-1:]}
        stay |= {one.id for one, then in pairwise(nights) if then.id in stay}
        finished, last = {r.id for r in results}, self.last_night()
        for run, changed in self._folder.folders("runs").items():
            if run in stay:
                continue
            if run in finished or self._is_given_up(
                run, changed, before, last
            ):
                self._writable().delete(f"runs/{run}")
                if self._ended is not None:
                    self._ended.pop(run, None)

    def _forget_digests(
        self, results: Sequence[EndedRun], before: datetime
    ) -> None:
        stored = self._folder.folders("runs")
        for result in results:
            if result.id in stored and result.ended_at < before:
                self._writable().delete(f"runs/{result.id}/digests")
        # What a run left that was killed on a cluster.
        for name, changed in self._folder.folders(CHECKPOINTS).items():
            if changed < before:
                self._writable().delete(f"{CHECKPOINTS}/{name}")

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
        nights = [run for run in self.ended() if run.nightly]
        if not nights:
            return None
        last = max(nights, key=attrgetter("end")).id
        run = self.plan(last)
        if run is None:
            raise AuditError(
                f"{self._folder.url} has a result of {last} and not its "
                "plan, so it is not known where to go on: put it back"
            )
        return run

    def _writable(self) -> HadoopFolder:
        """Return the folder, if it is still held for this audit."""
        self._still_held()
        return self._folder

    def _one(self, kind: type[T], name: str) -> T | None:
        for text in self._folder.read_texts(name):
            return from_versioned(kind, text, f"{self._folder.url}/{name}")
        return None
