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
``latest.json``
    The same of the nightly run with the newest ranges.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import AuditedEnds, Plan, Side
from mirrorwatch.domain.audit.result import FinishedAudit
from mirrorwatch.exceptions import AuditError, AuditRefusedError
from mirrorwatch.state.audits import (
    from_versioned,
    local_path,
    result_files,
    to_url,
    to_versioned,
    write_file,
)

from ..checkpoint import CHECKPOINTS
from ..session import is_missing_path, translated

__all__ = ["FrozenRun", "HadoopFolder", "RunStore"]


KEEP_DIGESTS = timedelta(days=14)
"""How long digests are kept after their run: they are nearly all that it
keeps, and two weeks are time to look at one again by hand. A run that has not
ended keeps its own."""

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
            Where.
        text
            What.
        anew
            Whether nothing is done where there is one already.
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

    def read_texts(self, name: str, *, fields: str | None = None) -> list[str]:
        """Read texts.

        Parameters
        ----------
        name
            Where; `*` stands for any folder, `{a,b}` for one of two.
        fields
            What is of use of JSON, in Spark's DDL; else all. Of thousands of
            texts the rest would not fit into memory.
        """
        with translated(f"Cannot read {self._at(name)}"):
            try:
                texts = self._session.read.text(
                    self._found(name), wholetext=True
                )
                if fields is not None:
                    some = sf.to_json(sf.from_json("value", fields))
                    texts = texts.select(some)
                rows = texts.collect()
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

    def exists(self, name: str) -> bool:
        """Return whether there is a file or folder."""
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
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

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._folder = HadoopFolder(session, folder)
        self._local = local_path(folder)
        self._ended: dict[str, EndedRun] | None = None

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

    def carry(self, run: str | None) -> DataFrame | None:
        """Return what a run left to the next night, if there was one."""
        if run is None:
            return None
        return self._folder.read_table(f"runs/{run}/carry")

    def carry_url(self, run: str) -> str:
        """Return the folder of what a run left to the next night."""
        return f"{self._folder.url}/runs/{run}/carry"

    def save_report(self, run: str, page: str) -> None:
        """Keep what a person looks at."""
        self._write(f"runs/{run}/report.html", page)

    def save_result(self, audit: FinishedAudit) -> None:
        """Keep what a run found. From now on it counts."""
        latest = self._one(FinishedAudit, "latest.json")
        for name, text in result_files(audit, latest).items():
            self._write(name, text)
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
        return self._one(FinishedAudit, f"runs/{run}/result.json")

    def is_finished(self, run: str) -> bool:
        """Return whether a run came to its end."""
        return self._folder.exists(f"runs/{run}/result.json")

    def results(self) -> list[FinishedAudit]:
        """Return what all finished runs found, in no order."""
        return self._results("*")

    def ended(self) -> list[EndedRun]:
        """Return which runs came to their end, in no order."""
        if self._ended is None:
            name = "runs/*/result.json"
            where = f"{self._folder.url}/{name}"
            found = [
                from_versioned(_Ended, text, where).result
                for text in self._folder.read_texts(name, fields=_ENDED)
            ]
            self._ended = {run.id: run for run in found}
        return [*self._ended.values()]

    def _results(self, runs: str) -> list[FinishedAudit]:
        name = f"runs/{runs}/result.json"
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
                self._folder.delete(f"runs/{run}")
                if self._ended is not None:
                    self._ended.pop(run, None)

    def _forget_digests(
        self, results: Sequence[EndedRun], before: datetime
    ) -> None:
        stored = self._folder.folders("runs")
        for result in results:
            if result.id in stored and result.ended_at < before:
                self._folder.delete(f"runs/{result.id}/digests")
        # What a run left that was killed on a cluster.
        for name, changed in self._folder.folders(CHECKPOINTS).items():
            if changed < before:
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
