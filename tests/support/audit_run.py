"""`mirrorwatch audit` in a process of its own, on a lab."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer

from mirrorwatch_lab import Lab
from mirrorwatch_lab.cli import describe_agent
from mirrorwatch_lab.faults import MARK
from tests.support.lab import copied

__all__ = [
    "FAULTS",
    "SECONDS",
    "AuditCommand",
    "Ran",
    "audit_command",
    "counts",
    "found",
    "inject",
    "last_value",
    "records",
    "write",
]


SCRIPT = Path(sys.executable).with_name("mirrorwatch")

SECONDS = 1200.0
"""An audit takes half a minute; others use this machine as well."""

FIRST_COMPILER = "-XX:TieredStopAtLevel=1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What a command said."""

    status: int
    output: str
    errors: str

    @property
    def document(self) -> dict[str, Any]:
        """Printed JSON, without the times of the run."""
        result = json.loads(self.output)
        times = {"began_at", "ended_at"}
        return {k: v for k, v in result.items() if k not in times}


class AuditCommand:
    """Runs the command with a configuration of the lab.

    Parameters
    ----------
    lab
        The lab.
    folder
        Folder for the configuration and the results.
    topics
        Topics that the flow carries.
    few_records
        Whether there is little to read: then Java's second compiler would
        take longer than it saves.
    """

    def __init__(
        self,
        lab: Lab,
        folder: Path,
        topics: Sequence[str],
        *,
        few_records: bool = False,
    ) -> None:
        own = {"SPARK_SUBMIT_OPTS": FIRST_COMPILER}
        self._java = own if few_records else {}
        data = describe_agent(lab)
        data["flows"][0]["topics"] = {"include": list(topics)}
        data["flows"][0]["canary"] = {"enabled": False}
        mirror = data["flows"][0].get("mirror", {})
        if mirror.get("kind", "mirrormaker2") != "mirrormaker2":
            mirror["isolation_level"] = "read_uncommitted"
        data["state"] = {"path": str(folder / "state.db")}
        data["audit"] = {
            "master": "local[2]",
            "memory": "1g",
            "slack": "0s",
            "settle": "1s",
        }
        self.config = folder / "config.yaml"
        self.config.write_text(yaml.safe_dump(data))
        self.folder = folder

    def __call__(
        self,
        command: str,
        *arguments: str,
        environment: Mapping[str, str] = os.environ,
    ) -> Ran:
        print(f"audit {command}")
        return self.end(
            self.start(command, *arguments, environment=environment)
        )

    def end(self, process: "subprocess.Popen[str]") -> Ran:
        """Wait until it ends."""
        output, errors = process.communicate(timeout=SECONDS)
        print(f"status {process.returncode}\n{errors}")
        return Ran(status=process.returncode, output=output, errors=errors)

    def start(
        self,
        command: str,
        *arguments: str,
        environment: Mapping[str, str] = os.environ,
    ) -> subprocess.Popen[str]:
        """Start it, to be interrupted."""
        return subprocess.Popen(
            [
                *(SCRIPT, "audit", command),
                *("--config", str(self.config), *arguments),
            ],
            cwd=self.folder,
            env={**environment, **self._java},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def write(
    bootstrap: str, topic: str, records: Sequence[dict[str, Any]]
) -> None:
    """Write records to partition 0, unless they say so.

    Parameters
    ----------
    bootstrap
        The cluster.
    topic
        The topic.
    records
        Arguments of ``Producer.produce``.
    """
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for record in records:
        producer.produce(topic, **{"partition": 0, **record})
    assert producer.flush(60) == 0


JOB_SCRIPT = """
import os, signal, subprocess, sys, time
from datetime import datetime
from pathlib import Path

folder, act, *rest = sys.argv[1:]
folder = Path(folder)
(folder / "started").write_text(" ".join(rest))
sys.stderr.write("Reading\\r10 %\\r20 %\\n")
if (folder / "held").exists():
    sys.stderr.write("Error: Another audit is running on out: wait for it\\n")
    sys.exit(5)
if act in {"clean", "findings"}:
    from tests.support.audit import (
        a_finding,
        a_finished,
        a_result,
        write_audit,
    )

    found = [a_finding()] if act == "findings" else []
    at = datetime.fromisoformat((folder / "now").read_text())
    write_audit(folder / "out", a_finished(a_result(*found, at=at)))
    sys.exit(3 if found else 0)
if act == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", HANG])
    (folder / "pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
if act == "leave":
    child = subprocess.Popen([sys.executable, "-c", HANG])
    (folder / "pids").write_text(f"{os.getpid()} {child.pid}")
    # So that it ignores what asks it to end.
    time.sleep(1)
if act == "fail":
    sys.stderr.write("Error: the token is hunter2, and no broker answers\\n")
    sys.stderr.write("(see above)\\n")
    sys.exit(1)
if act == "flood":
    sys.stdout.write("x" * 3_000_000)
    sys.stderr.write("y" * 3_000_000 + "\\nthe end\\n")
    sys.exit(1)
if act == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if act == "greedy":
    bytearray(int(rest[0]))
""".replace(
    "HANG",
    repr(
        "import signal, time; "
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    ),
)


def audit_command(folder: Path, act: str, *rest: str) -> list[str]:
    """Return a command that does one of the things in `SCRIPT`."""
    return [sys.executable, "-c", JOB_SCRIPT, str(folder), act, *rest]


AT = 10
"""Offset at which a fault is: so many records come before it, and after."""

AFTER = 1000
"""Number of the first record after the fault."""

OUTSIDE_MS = 120_000
"""How far from the others records are that the window leaves out."""

Record = dict[str, Any]

Found = tuple[str, int, list[list[int]], list[list[int]]]
"""Kind, count, source offsets and target offsets of a finding."""


def record(begin: datetime, number: int, **more: Any) -> Record:
    """Return a record so many milliseconds after the begin."""
    return {
        "key": b"key",
        "value": b"value %d" % number,
        "headers": {"h": b"x"},
        "timestamp": round(begin.timestamp() * 1000) + number,
        **more,
    }


def records(begin: datetime, first: int, count: int) -> list[Record]:
    """Return records a millisecond apart."""
    return [record(begin, n) for n in range(first, first + count)]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What befalls one topic, after its first records were copied."""

    found: tuple[Found, ...]
    lost: tuple[int, ...] = ()
    sent: int = 1
    value: bytes | None = b"the one"
    written: tuple[Record, ...] = ()
    """What somebody writes to the target then: what in them differs from the
    one that was dropped."""

    alone: bool = False
    """Whether the window ends just before and just after the fault."""

    def before(self, begin: datetime) -> list[Record]:
        """Return what is copied first."""
        return records(begin, -OUTSIDE_MS if self.alone else 0, AT)

    def at_source(self, begin: datetime) -> list[Record]:
        """Return what is written to the source then."""
        return [
            self._the_one(begin, AT + n)
            if n in self.lost
            else record(begin, AT + n)
            for n in range(self.sent)
        ]

    def at_target(self, begin: datetime) -> list[Record]:
        """Return what is written to the target then."""
        one = self._the_one(begin, AT)
        return [
            record(begin, other["again"]) if "again" in other else one | other
            for other in self.written
        ]

    def after(self, begin: datetime) -> list[Record]:
        """Return what is copied last."""
        return records(begin, OUTSIDE_MS if self.alone else AFTER, AT)

    def _the_one(self, begin: datetime, number: int) -> Record:
        return record(begin, number, value=self.value, headers={MARK: b"x"})


def _ranges(offsets: Sequence[int]) -> list[list[int]]:
    return [[offset, offset] for offset in offsets]


_HERE = _ranges([AT])

_SCATTERED = tuple(range(0, 100, 6))
assert len(_SCATTERED) == 17

FAULTS: Mapping[str, Fault] = {
    "dropped": Fault(lost=(0,), found=(("dropped", 1, _HERE, []),)),
    "scattered": Fault(
        sent=100,
        lost=_SCATTERED,
        found=(("dropped", 17, _ranges([AT + n for n in _SCATTERED]), []),),
    ),
    "stretch": Fault(
        sent=40,
        lost=tuple(range(40)),
        found=(("dropped", 40, [[AT, AT + 39]], []),),
    ),
    "edges": Fault(
        sent=30,
        lost=(0, 29),
        alone=True,
        found=(("dropped", 2, _ranges([AT, AT + 29]), []),),
    ),
    "extra": Fault(sent=0, written=({},), found=(("extra", 1, [], _HERE),)),
    "doubled": Fault(
        sent=0,
        written=({"again": 0},),
        found=(("duplicated", 1, [[0, 0]], _HERE),),
    ),
    # As many records as before, in the same ten minutes.
    "evened": Fault(
        lost=(0,),
        written=({"again": 3},),
        found=(
            ("dropped", 1, _HERE, []),
            ("duplicated", 1, [[3, 3]], _HERE),
        ),
    ),
    "flipped": Fault(
        lost=(0,),
        written=({"value": b"the onf"},),
        found=(("corrupted", 1, _HERE, _HERE),),
    ),
    "emptied": Fault(
        lost=(0,),
        value=None,
        written=({"value": b""},),
        found=(("corrupted", 1, _HERE, _HERE),),
    ),
    "header": Fault(
        lost=(0,),
        written=({"headers": {MARK: b"y"}},),
        found=(("corrupted", 1, _HERE, _HERE),),
    ),
}


def inject(lab: Lab, faults: Mapping[str, Fault], begin: datetime) -> None:
    """Let each fault befall its topic, on a mirror that drops what is marked.

    Parameters
    ----------
    lab
        The lab.
    faults
        Faults by their topics, which are empty.
    begin
        Timestamp of the first record that is not left out.
    """
    source, target = lab.source.bootstrap, lab.target.bootstrap
    for topic, fault in faults.items():
        write(source, topic, fault.before(begin))
    for topic, fault in faults.items():
        copied(lab, topic, last_value(fault.before(begin)))
        write(source, topic, fault.at_source(begin))
        write(target, topic, fault.at_target(begin))
        write(source, topic, fault.after(begin))
    for topic, fault in faults.items():
        copied(lab, topic, last_value(fault.after(begin)))


def last_value(written: Sequence[Record]) -> list[str]:
    """Return the value of the last of these records, if there is one."""
    return [record["value"].decode() for record in written[-1:]]


def found(ran: Ran) -> dict[str, tuple[Found, ...]]:
    """Return what an audit found, by topic."""
    by_topic: dict[str, tuple[Found, ...]] = {}
    for finding in ran.document["findings"]:
        one = (
            finding["kind"],
            finding["count"],
            finding["source_offsets"],
            finding["target_offsets"],
        )
        others = by_topic.get(finding["topic"], ())
        by_topic[finding["topic"]] = tuple(sorted((*others, one)))
    return by_topic


def counts(ran: Ran) -> dict[str, tuple[int, int]]:
    """Return how many records an audit counted on each side, by topic."""
    return {
        topic["topic"]: (topic["source_count"], topic["target_count"])
        for topic in ran.document["topics"]
    }
