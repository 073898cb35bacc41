"""What the agent's process does about memory."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from mirrorwatch.memory import without_packages

LOOK = """
import gc
from mirrorwatch.memory import calm_collector

class Cycle:
    gone = 0
    def __init__(self): self.me = self
    def __del__(self): Cycle.gone += 1

calm_collector()
assert gc.get_freeze_count() > 1000, gc.get_freeze_count()
assert len(gc.get_objects()) < 1000, len(gc.get_objects())
for _ in range(gc.get_threshold()[0] + 1):
    Cycle()
assert Cycle.gone > 0
"""
"""In a process of its own: it concerns all of it."""


def test_what_was_there_is_left_alone_and_new_garbage_is_found() -> None:
    subprocess.run([sys.executable, "-c", LOOK], check=True)


ARENAS_OF_THREADS = """
import ctypes, re, sys
from threading import Barrier, Thread
from mirrorwatch.memory import ARENAS, limit_fragmentation

if not limit_fragmentation():
    sys.exit()  # not glibc
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
barrier = Barrier(9)

def take():
    libc.malloc(1000)
    barrier.wait()

for _ in range(8):
    Thread(target=take).start()
barrier.wait()
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
heaps = re.findall("<heap nr=", open(sys.argv[1]).read())
assert 1 <= len(heaps) <= ARENAS, heaps
"""


def test_threads_share_a_few_places_of_memory(tmp_path: Path) -> None:
    info = str(tmp_path / "info.xml")
    subprocess.run([sys.executable, "-c", ARENAS_OF_THREADS, info], check=True)


LARGE_AMONG_SMALL = """
import ctypes, sys
from mirrorwatch.memory import LARGE, limit_fragmentation

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
        "fsmblks", "uordblks", "fordblks", "keepcost",
    )]

if not limit_fragmentation() or not hasattr(libc, "mallinfo2"):
    sys.exit()  # not glibc, or one before 2.33
libc.mallinfo2.restype = Info
# One that was freed is what raises glibc's own limit.
libc.free(libc.malloc(100 * LARGE))
before = libc.mallinfo2()
kept = []
for _ in range(20):
    large = libc.malloc(10 * LARGE)
    kept.append(libc.malloc(100))
    libc.free(large)
after = libc.mallinfo2()
assert after.fordblks < before.fordblks + LARGE, after.fordblks
assert after.arena <= before.arena + 2 * LARGE, (before.arena, after.arena)
"""


def test_large_blocks_leave_no_holes_among_small_ones() -> None:
    subprocess.run([sys.executable, "-c", LARGE_AMONG_SMALL], check=True)


FREED = """
import sys
from pathlib import Path
from mirrorwatch.memory import TRIM_EVERY, FreeMemory

now = [0.0]
free = FreeMemory(lambda: now[0])
if free._trim is None:
    sys.exit()  # not glibc

def mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) / 256

freed = [bytes(4096) for _ in range(10_000)]
held = [bytes(4096) for _ in range(100)]
del freed
before = mib()
assert not free.give_back()
now[0] = TRIM_EVERY
assert free.give_back()
assert mib() < before - 20, (before, mib())
assert not free.give_back()
"""


def test_what_is_freed_below_what_is_used_is_given_back() -> None:
    subprocess.run([sys.executable, "-c", FREED], check=True)


CYCLES = """
import weakref
from mirrorwatch.memory import TRIM_EVERY, FreeMemory, calm_collector

class Served:
    def __init__(self): self.me = self

calm_collector()
now = [0.0]
free = FreeMemory(lambda: now[0])
served = weakref.ref(Served())
free.give_back()
assert served() is not None
now[0] = TRIM_EVERY
free.give_back()
assert served() is None
"""


def test_cycles_do_not_wait_until_there_are_many() -> None:
    subprocess.run([sys.executable, "-c", CYCLES], check=True)


LOADED = """
import sys
import click
from mirrorwatch.cli import main

assert main.get_command(click.Context(main), "run") is not None
left_out = {"pygments", "rich", "trio"}
assert left_out.isdisjoint(sys.modules), left_out & sys.modules.keys()
import rich.console
"""


def test_the_agent_loads_nothing_that_only_other_commands_show() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True)


def test_what_seemed_not_installed_is_there_afterwards() -> None:
    with without_packages("tabnanny", "sys"):
        assert sys.modules["sys"] is sys
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("tabnanny")
    assert "tabnanny" not in sys.modules
