"""A stand-in for `mirrorwatch audit run`: does what a test wants of it."""

import sys
from pathlib import Path

__all__ = ["SCRIPT", "audit_command"]

SCRIPT = """
import os, signal, subprocess, sys, time
from datetime import datetime
from pathlib import Path

folder, act, *rest = sys.argv[1:]
folder = Path(folder)
(folder / "started").write_text(" ".join(rest))
sys.stderr.write("Reading\\r10 %\\r20 %\\n")
if act in {"clean", "findings"}:
    from mirrorwatch.state.audits import write_audit
    from tests.support.audits import a_finding, a_finished, a_result

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
    return [sys.executable, "-c", SCRIPT, str(folder), act, *rest]
