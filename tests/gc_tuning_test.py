"""What the agent's process does about Python's garbage collector."""

import subprocess
import sys

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
