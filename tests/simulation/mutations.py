"""``python -m tests.simulation.mutations``: break rules, and see it noticed.

Each mutation breaks one rule of a copy of the agent, in the way in which a
person might. The scenarios, then worlds by chance, must find it. One that they
do not find is a gap in the simulation, or a rule that nothing needs.

Mutants are changes by the classic operators, a few in each subject, chosen by
a hash of what they change. The tests of the subject must find them, or the
scenarios. Not all do: some change nothing that anybody sees.
"""

import argparse
import ast
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .syntax import changes, replace_once, with_change

__all__ = ["FILES", "MUTATIONS", "Mutant", "Mutation", "draw_mutants", "main"]

ROOT = Path(__file__).parents[2]
DOMAIN = "agent/mirrorwatch/domain"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One rule, broken."""

    name: str
    file: str
    """Below `DOMAIN`."""

    old: str
    new: str

    by: str
    """Part of the names of tests that found it before: tried first."""

    def broken(self, source: str) -> str:
        return replace_once(source, self.old, self.new)

    @property
    def commands(self) -> tuple[Sequence[str], ...]:
        return (*SCENARIOS, "-k", self.by), SCENARIOS, WORLDS


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change, chosen by a hash."""

    name: str
    file: str
    """Below `DOMAIN`."""

    index: int

    def broken(self, source: str) -> str:
        return with_change(source, self.index)

    @property
    def commands(self) -> tuple[Sequence[str], ...]:
        subject = self.file.partition("/")[0]
        return (*PYTEST, f"tests/domain/{subject}"), SCENARIOS


MUTATIONS = (
    # Copies: what is proved, and what is believed.
    Mutation(
        "an even sync accounts for its own record only",
        "copies/pair.py",
        "found += self._copy(range(first, first + length), before.target + 1)",
        "found += self._copy(range(after.source, after.source + 1), "
        "after.target)",
        "duplicates_are_reported",
    ),
    Mutation(
        "an uneven sync proves all before it",
        "copies/pair.py",
        "after.source - before.source != length",
        "False",
        "each_history_is_told",
    ),
    Mutation(
        "records of others hide what was dropped",
        "copies/pair.py",
        "may_hide and 1 < length < CADENCE",
        "False",
        "each_history_is_told",
    ),
    Mutation(
        "a pair that is none any more is believed",
        "copies/pair.py",
        "self._is_copy(start) and content.is_truncated(start)",
        "False",
        "restart_of_the_agent",
    ),
    Mutation(
        "syncs of a truncated log are believed",
        "copies/ranges.py",
        "found.wrong.add(OffsetPair(offset, source))",
        "pass",
        "each_history_is_told",
    ),
    Mutation(
        "no record of the target hides a copy",
        "copies/pair.py",
        "matched.hidden",
        "0",
        "each_history_is_told",
    ),
    Mutation(
        "altered copies prove losses",
        "copies/ranges.py",
        "bool(sources and copies) and copies.isdisjoint(sources)",
        "False",
        "altered",
    ),
    Mutation(
        "records that expired unread are unverifiable as well",
        "copies/pair.py",
        "EventKind.EXPIRED if is_proved else EventKind.UNVERIFIABLE",
        "EventKind.UNVERIFIABLE",
        "each_history_is_told",
    ),
    Mutation(
        "syncs of a topic that was recreated are taken",
        "copies/pair.py",
        "self.since is not None and written_at <= self.since",
        "False",
        "each_history_is_told",
    ),
    Mutation(
        "transaction markers at the target are forgotten",
        "copies/pair.py",
        "bool(foreign or matched.holes)",
        "bool(foreign)",
        "each_history_is_told",
    ),
    Mutation(
        "the head of a recreated topic is called lost",
        "copies/tracker.py",
        "pair.awaits_first = True",
        "pass",
        "each_history_is_told",
    ),
    Mutation(
        "copies of lost records take no loss back",
        "copies/pair.py",
        "before[State.ABSENT]",
        "0",
        "records_of_an_event",
    ),
    Mutation(
        "a truncated source is judged before the mirror resumed",
        "copies/pair.py",
        "if self.beyond:\n    return None",
        "pass",
        "copied_again_is_no_loss",
    ),
    Mutation(
        "a topic that appears begins at its first sync",
        "copies/tracker.py",
        "appeared or seen.copies_end == 0 or is_young",
        "False",
        "each_history_is_told",
    ),
    Mutation(
        "a committed position is believed at once",
        "copies/tracker.py",
        "view.at - since >= STALE_END",
        "True",
        "each_history_is_told",
    ),
    Mutation(
        "a committed position is never believed",
        "copies/tracker.py",
        "view.at - since >= STALE_END",
        "False",
        "each_history_is_told",
    ),
    Mutation(
        "a recreated topic is taken for the one before",
        "copies/tracker.py",
        "pair.source_id != seen.source_id or (None not in {pair.target_id, "
        "seen.target_id} and pair.target_id != seen.target_id)",
        "False",
        "each_history_is_told",
    ),
    Mutation(
        "an end that fell is believed at once",
        "copies/tracker.py",
        "at - began < STALE_END",
        "False",
        "brokers_are_asked",
    ),
    Mutation(
        "an end that fell is believed of a longer log",
        "copies/tracker.py",
        "key not in self._confirmed",
        "False",
        "each_history_is_told",
    ),
    Mutation(
        "syncs are judged by the survey that came before them",
        "copies/tracker.py",
        "_is_within(sync, seen)",
        "True",
        "each_history_is_told",
    ),
    Mutation(
        "a loss is reported for ten minutes only",
        "skips/check.py",
        "lost_since = now - limits.lost_window",
        "lost_since = now - limits.warning_window",
        "a_skip_stays_told",
    ),
    # Position: what expired, and what only seems to have.
    Mutation(
        "one look is enough to tell that records expired or were cut off",
        "copies/out_of_range.py",
        "return self.since < at",
        "return True",
        "one_stale_end",
    ),
    Mutation(
        "what expired before a place was first seen is not told",
        "copies/out_of_range.py",
        "start == seen.source_end and pair.source_end <= first",
        "False",
        "before_the_first_start",
    ),
    Mutation(
        "records of others are counted as copies",
        "copies/pair.py",
        "self.cursor.source + target_end - self.cursor.target <= source_end",
        "True",
        "soon_after_a_crash",
    ),
    Mutation(
        "an internal topic unseen for one look is gone",
        "position/internal_topics.py",
        "return at - self._missing.get(what, at) >= AWAY_AFTER",
        "return True",
        "unseen_for_some_looks",
    ),
    Mutation(
        "what comes when the mirror has stopped is taken for copies",
        "copies/pair.py",
        "not (is_counted and target < self.counted_end)",
        "False",
        "moved_to_the_target",
    ),
    Mutation(
        "what a recreated topic held uncopied is not reported",
        "position/recreation.py",
        "left if left or key in state.seen else None",
        "0",
        "deleted_topic_held",
    ),
    Mutation(
        "a topic that was never seen had been copied",
        "position/recreation.py",
        "left if left or key in state.seen else None",
        "left",
        "held_since_the_last_look",
    ),
    Mutation(
        "an expired range ends with the first sync, wherever that is",
        "copies/out_of_range.py",
        "pair.judged >= known.end",
        "seen.copies_end != known.copies_end",
        "a_late_sync_ends",
    ),
    # Lag: when a position stands for too long.
    Mutation(
        "a long flush interval is not learned",
        "lag/tracker.py",
        "c.flush or cadence or FLUSH",
        "FLUSH",
        "flush_interval_is_no_lag",
    ),
    Mutation(
        "what a partition waits for is forgotten by a restart",
        "lag/tracker.py",
        "told = None if track else seen.proved_at",
        "told = None",
        "lag_stood_survives",
    ),
    Mutation(
        "records wait anew where their copies are deleted",
        "lag/tracker.py",
        "track is None or track.epoch[0] != seen.source_id",
        "track is None or track.epoch != (seen.source_id, target_id)",
        "copies_are_deleted",
    ),
    Mutation(
        "a stopped mirror is patiently waited for",
        "lag/check.py",
        "t.stuck > allowed[status]",
        "t.stuck > 20 * allowed[status]",
        "new_partition_hides_no_stopped",
    ),
    Mutation(
        "partitions that have not begun come first",
        "lag/check.py",
        "if topic.status is not LagStatus.NOT_BEGUN:\n    return topic",
        "return topic",
        "hides_no_stopped_mirror",
    ),
    # Canary: what proves that a probe is lost.
    Mutation(
        "a probe is lost before the target was read to its end",
        "canary/tracker.py",
        "ledger.next_offset < proof.end or now < proof.counts_at",
        "False",
        "read_late_is_not_lost",
    ),
    Mutation(
        "probes on partitions that are gone are waited for",
        "canary/tracker.py",
        "return self.missed >= GONE_AFTER",
        "return False",
        "that_are_gone",
    ),
    Mutation(
        "a lost probe is reported for ten minutes only",
        "canary/check.py",
        "now - x.proved_at <= limits.lost_window",
        "now - x.proved_at <= limits.warning_window",
        "lost_probe",
    ),
    Mutation(
        "a lost probe is never proved",
        "canary/tracker.py",
        "passed(known, proof, ledger.first_arrival)",
        "()",
        "no_order_of_copies",
    ),
    # Mirrors without offset-syncs.
    Mutation(
        "what expired between two ends of a link was copied",
        "position/commits.py",
        "expired is None and place.reached is not None and first < start",
        "False",
        "expires_unseen",
    ),
    # Topics, configs, retention and heartbeats: what is due, and since when.
    Mutation(
        "a new topic is missed at once",
        "parity/topics.py",
        "tuple(m for m in self.missing if self.at - m.since > self.patience)",
        "self.missing",
        "a_topic_that_is_created_late",
    ),
    Mutation(
        "a topic that is hidden is said to be there",
        "parity/topics.py",
        "_find(seen, None if lag is None else lag.hidden)",
        "_find(seen, None)",
        "a_topic_that_the_agent_may_not_see",
    ),
    Mutation(
        "a config is due before the mirror can sync it",
        "parity/configs.py",
        "d.since is not None and self.at - d.since >= self.patience",
        "d.since is not None",
        "may_not_change_is_told_once_due",
    ),
    Mutation(
        "what waited before a restart is called new",
        "lag/partition.py",
        "self.head_at or self._written_since_passed(at)",
        "self.head_at",
        "too_slow_for_the_retention",
    ),
    Mutation(
        "heartbeats that a restarted agent knows nothing of are on time",
        "heartbeats.py",
        "pair.waited_unseen and pair.behind > limits.stale",
        "False",
        "heartbeats_that_are_not_copied",
    ),
)


SUBJECTS = ("copies", "skips", "position", "lag", "canary", "failover")
MUTANTS = 5


def draw_mutants() -> list[Mutant]:
    """Return mutants that stay the same where their code does."""
    return [each for subject in SUBJECTS for each in _mutants(subject)]


def _mutants(subject: str) -> list[Mutant]:
    seen: Counter[str] = Counter()
    found = []
    for file in sorted((ROOT / DOMAIN / subject).glob("*.py")):
        tree = ast.parse(file.read_text())
        for index, change in enumerate(changes(tree)):
            name = f"{subject} {change}"
            seen[name] += 1
            name = f"{name} #{seen[name]}"
            found.append(Mutant(name, f"{subject}/{file.name}", index))
    found.sort(key=lambda each: hashlib.sha256(each.name.encode()).digest())
    return found[:MUTANTS]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutation."""

    by: str | None
    """What noticed it; `None` if nothing did."""

    seconds: float
    """Processor time until then."""


def find(mutation: Mutation | Mutant | None, seconds: float) -> Outcome:
    """Look for what notices a mutation.

    Parameters
    ----------
    mutation
        What is broken. Without one, what fails all the same is looked for:
        then no mutation proves anything.
    seconds
        Processor time after which it is given up: a machine that is busy
        finds no less for that.
    """
    began = _used()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("agent", "docs", "tests", "pyproject.toml"):
            place = ROOT / name
            if place.is_dir():
                # With what is compiled: most of a short run would be that.
                shutil.copytree(
                    place, copy / name, ignore=shutil.ignore_patterns("data")
                )
            else:
                shutil.copy(place, copy / name)
        commands: Sequence[Sequence[str]] = (SCENARIOS, WORLDS)
        if mutation is not None:
            commands = mutation.commands
            file = copy / DOMAIN / mutation.file
            file.write_text(mutation.broken(file.read_text()))
        for command in commands:
            left = seconds - (_used() - began)
            if left < 1:
                break
            by = _run(copy, command, left)
            if by is not None:
                return Outcome(by, _used() - began)
    return Outcome(None, _used() - began)


FILES = (
    *(
        Path("tests/domain/copies", name)
        for name in ("tracker_test.py", "oracle_test.py")
    ),
    *(
        path.relative_to(ROOT)
        for path in sorted(Path(__file__).parent.glob("*_test.py"))
        if path.stem not in {"chance_test", "mutations_test"}
    ),
)
"""Histories of one partition, and scenarios."""

PYTEST = (
    *("-m", "pytest", "-x", "-q", "-p", "no:xdist", "--hypothesis-seed=0"),
    *("-p", "no:cacheprovider", "--tb=no", "-o", "timeout=0"),
)

SCENARIOS = (*PYTEST, *map(str, FILES))

WORLDS = (
    *("-m", "tests.simulation", "--first", "1", "--until-failure"),
    *("--seconds", "1000000"),
)

NOTHING_CHOSEN = 5
"""Exit status of pytest where no test has the name."""


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(copy: Path, command: Sequence[str], seconds: float) -> str | None:
    """Return what fails within some seconds of processor time, if anything."""

    def limit() -> None:
        whole = int(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 5))

    done = subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env=os.environ
        | {
            "PYTHONPATH": f"{copy / 'agent'}:{copy}",
            # A tenth of the examples: what is broken fails most of them.
            "MIRRORWATCH_QUICK": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    said = [
        line
        for line in done.stdout.splitlines()
        if line.startswith(("FAILED", "ERROR", "seed "))
    ]
    if said:
        return said[0]
    if done.returncode in {0, -signal.SIGXCPU, NOTHING_CHOSEN}:
        return None
    text = done.stdout[-500:] + done.stderr[-500:]
    return None if "BrokenProcessPool" in text else text


def main() -> int:
    """Try every mutation and mutant; exit 1 if a mutation was not noticed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation.mutations"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=600.0,
        help="processor time for each mutation",
    )
    parser.add_argument(
        "--mutant-seconds",
        type=float,
        default=60.0,
        help="processor time for each mutant",
    )
    parser.add_argument("--only", default="", help="part of a name")
    chosen = parser.parse_args()
    mutants = [m for m in draw_mutants() if chosen.only in m.name]
    score = _score(mutants, chosen.mutant_seconds)
    print(f"{score} of {len(mutants)} mutants noticed", flush=True)
    mutations = [m for m in MUTATIONS if chosen.only in m.name]
    if mutations and (fails := find(None, chosen.seconds).by):
        sys.exit(f"Unbroken rules fail, too: {fails}")
    score = _score(mutations, chosen.seconds)
    print(f"{score} of {len(mutations)} mutations noticed")
    return 1 if score < len(mutations) else 0


def _score(broken: Sequence[Mutation | Mutant], seconds: float) -> int:
    score = 0
    for each in broken:
        found = find(each, seconds)
        by = found.by or "NOT NOTICED"
        print(f"{each.name}: {found.seconds:.0f} s: {by}", flush=True)
        score += found.by is not None
    return score


if __name__ == "__main__":
    sys.exit(main())
