"""Which files are made of the alerts. Pure."""

from collections.abc import Mapping

from . import ALERTS
from .kapacitor import scripts
from .prometheus import rules

__all__ = ["files"]


HEADER = """\
# Made by `make alerts` from agent/mirrorwatch_alerting: change it there.
"""


def files() -> Mapping[str, str]:
    """Return the text of each file, by its path below ``alerts/``."""
    ticks = scripts(ALERTS).items()
    return {
        "prometheus/mirrorwatch.yaml": HEADER + rules(ALERTS),
        **{f"kapacitor/{name}.tick": text for name, text in ticks},
    }
