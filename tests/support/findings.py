"""Findings of verdicts, by their codes."""

from mirrorwatch.domain.report import Finding, Verdict

__all__ = ["find"]


def find(verdict: Verdict, code: str, **facts: str | float | None) -> Finding:
    """Return the only finding of a code; its subject and numbers hold the
    facts.
    """
    (found,) = (f for f in verdict.findings if f.code == code)
    known = {**found.subject, **found.numbers}
    assert {name: known.get(name) for name in facts} == facts
    return found
