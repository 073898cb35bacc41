"""`mirrorwatch alerts`: copies alert rules from site to site."""

from .promotion import make_group

__all__ = ["command"]

command = make_group(
    "alerts", "Kapacitor's tasks, templates and handlers", "alert rules"
)
