"""The answer of an audit in a sentence."""

from collections import Counter
from collections.abc import Iterable

from .result import AuditResult
from .words import counted

__all__ = ["answer"]

WORDS = {
    "dropped": "dropped",
    "duplicated": "doubled",
    "corrupted": "altered",
    "extra": "that nobody wrote at the source",
}
"""What is told of records, the worst first."""


def answer(result: AuditResult) -> str:
    """Return what a person wants to know first."""
    said = []
    if result.findings:
        said.append(_findings(result))
    if result.unverifiable:
        said.append(_gaps(result))
    if said:
        return "; ".join(said)
    records = sum(topic.source_count for topic in result.topics)
    if not records:
        return "Clean: nothing was written"
    return (
        f"Clean: {counted(records, 'record')} of "
        f"{counted(len(result.topics), 'topic')} arrived once and unaltered"
    )


def _findings(result: AuditResult) -> str:
    sums: Counter[str] = Counter()
    for finding in result.findings:
        sums[finding.kind] += finding.count
    first, *others = [kind for kind in WORDS if sums[kind]]
    parts = [f"{counted(sums[first], 'record')} {WORDS[first]}"]
    parts += [f"{sums[kind]:,} {WORDS[kind]}" for kind in others]
    return f"{_joined(parts)} in {_named({f.topic for f in result.findings})}"


def _gaps(result: AuditResult) -> str:
    topics = {gap.topic for gap in result.unverifiable}
    gaps = f"could not verify {_named(topics)}"
    known = [gap.records for gap in result.unverifiable]
    records = sum(number for number in known if number is not None)
    if records:
        more = "" if None not in known else "at least "
        gaps += f" ({more}{counted(records, 'record')})"
    return gaps if result.findings else f"Nothing wrong found, but {gaps}"


def _named(topics: Iterable[str]) -> str:
    names = sorted(topics)
    if len(names) > 2:
        return counted(len(names), "topic")
    return _joined(names)


def _joined(parts: list[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last
