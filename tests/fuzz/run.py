"""Runs a target on inputs, within bounds."""

import hashlib
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from .inputs import inputs
from .targets import Target

__all__ = ["CORPUS", "MEMORY", "Failure", "attempt", "corpus_of", "run"]

CORPUS = Path(__file__).parent / "corpus"

SECONDS = 1.0

HANGS = 10
"""Seconds of processor time after which it is stopped."""

MEMORY = 4 * 2**30
"""Bytes of address space of the process."""


class HangError(BaseException):
    """Not an `Exception`, so that nothing on its way takes it."""


@dataclass(frozen=True)
class Failure:
    """An input that a decoder does not stand."""

    target: str
    data: bytes
    traceback: str

    def keep(self) -> Path:
        """Write the input to the corpus."""
        name = hashlib.sha256(self.data).hexdigest()[:16]
        folder = CORPUS / self.target
        folder.mkdir(exist_ok=True)
        file = folder / name
        file.write_bytes(self.data)
        return file


def corpus_of(target: Target) -> dict[str, bytes]:
    """Return the inputs that are kept of a target, by the file's name."""
    files = sorted((CORPUS / target.name).iterdir())
    return {file.name: file.read_bytes() for file in files}


def run(target: Target, data: bytes) -> None:
    """Give one input to a target.

    Raises
    ------
    AssertionError
        Raised if it takes too long; twice, as a machine may pause.
    """
    if _seconds(target, data) > SECONDS:
        took = _seconds(target, data)
        assert took <= SECONDS, f"took {took:.1f} s of processor time"


def _seconds(target: Target, data: bytes) -> float:
    began = time.process_time()
    try:
        with _stopping():
            target.run(data)
    except target.raises as e:
        # Wherever it is shown: in a log, an answer, a verdict.
        str(e).encode()
    except HangError as e:
        raise AssertionError("hangs") from e
    return time.process_time() - began


@contextmanager
def _stopping() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANGS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def attempt(
    target: Target, count: int, *, seed: int
) -> tuple[int, Failure | None]:
    """Try inputs; return how many, and the smallest that fails.

    Parameters
    ----------
    target
        What gets them.
    count
        How many to try.
    seed
        Which ones: the same seed gives the same inputs.
    """
    tried = 0
    failure: Failure | None = None

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @_seeded(seed)
    @given(inputs(list(corpus_of(target).values())))
    def try_one(data: bytes) -> None:
        nonlocal tried, failure
        tried += 1
        try:
            run(target, data)
        except Exception:
            failure = Failure(target.name, data, traceback.format_exc())
            raise

    try:
        try_one()
    except Exception:  # noqa: BLE001 - whatever it is, the input failed
        assert failure is not None, traceback.format_exc()
    return tried, failure


_seeded = seed
