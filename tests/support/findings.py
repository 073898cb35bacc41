"""Findings of verdicts, by their codes."""

from mirrorwatch.domain.report import Finding, Verdict

__all__ = ["Fact", "find", "is_found"]

Fact = str | float | None


def find(verdict: Verdict, code: str, **facts: Fact) -> Finding:
    """Return the only finding of a code; its subject and numbers hold the
    facts.
    """
    (found,) = (f for f in verdict.findings if f.code == code)
    assert _facts_of(found, facts) == facts
    return found


def is_found(verdict: Verdict | None, code: str, **facts: Fact) -> bool:
    """Return whether a verdict has a finding of a code with the facts."""
    return verdict is not None and any(
        f.code == code and _facts_of(f, facts) == facts
        for f in verdict.findings
    )


def _facts_of(finding: Finding, names: dict[str, Fact]) -> dict[str, Fact]:
    known = {**finding.subject, **finding.numbers}
    return {name: known.get(name) for name in names}
