"""The runbook: what to do about each verdict, served by the agent."""

from .runbook import Runbook

__all__ = ["Runbook"]
