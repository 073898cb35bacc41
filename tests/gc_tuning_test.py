"""What the agent's process does about Python's garbage collector."""

import subprocess
import sys
from pathlib import Path

LOOK = """
import gc
from mirrorwatch.gc_tuning import calm_collector

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
from mirrorwatch.gc_tuning import ARENAS, share_arenas

if not share_arenas():
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


FREED = """
import sys
from pathlib import Path
from mirrorwatch.gc_tuning import TRIM_EVERY, FreeMemory

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
