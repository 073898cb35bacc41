"""How many examples Hypothesis tries of each property."""

import os

from hypothesis import HealthCheck, settings

__all__ = ["examples", "load_profile"]

QUICK = "MIRRORWATCH_QUICK"
"""Environment variable that `make fast` sets: a tenth of the examples, and
`make test` tries all of them."""

FEWEST = 10
"""Fewer would try little beside the simplest examples."""

USUAL = 100


def _scale(count: int) -> int:
    quick = os.environ.get(QUICK) == "1"
    return min(count, max(FEWEST, count // 10)) if quick else count


def load_profile() -> None:
    """Set what holds for every property."""
    settings.register_profile(
        "patient",
        # How long an example takes says more about the machine than about
        # the code.
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=_scale(USUAL),
    )
    settings.load_profile("patient")


def examples(count: int) -> settings:
    """Try so many examples of a property, or a tenth in `make fast`."""
    return settings(max_examples=_scale(count))
