"""What of an audit leaves the agent as figures."""

from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.audit import metrics as audit
from mirrorwatch.domain.audit.flow_result import TopicTally
from tests.support.audit_days import CALM

FLOW = CALM.flow


def told(*topics: TopicTally) -> dict[tuple[str, ...], object]:
    assert CALM.night is not None
    seen = replace(CALM, night=replace(CALM.night, topics=topics))
    later = CALM.at + timedelta(minutes=1)
    return {
        (sample.metric.name, *sample.labels): sample.value
        for sample in audit.figures(seen, later)
        if sample.metric is not audit.LAST_SUCCESS
    }


def in_all(**found: int) -> dict[tuple[str, ...], object]:
    kinds = (*audit.FOUND, audit.UNJUDGED)
    return {(audit.IN_ALL.name, FLOW, k): found.get(k, 0) for k in kinds}


def test_a_clean_night_is_five_zeros_however_many_topics_there_are() -> None:
    topics = [TopicTally(topic=f"t{n}", source_records=9) for n in range(1000)]
    assert told(*topics) == in_all()


def test_topics_that_are_concerned_are_told_and_summed_up() -> None:
    figures = told(
        TopicTally(topic="clean", source_records=9),
        TopicTally(topic="lossy", found={"dropped": 3, "extra": 1}),
        TopicTally(topic="unclear", found={"dropped": 2}, unverifiable=40),
        TopicTally(topic="expired", unverifiable=2),
    )
    sums = in_all(dropped=5, extra=1, unverifiable=42)
    assert sums.items() <= figures.items()
    topics = {labels[2] for labels in figures if labels not in sums}
    assert topics == {"lossy", "unclear", "expired"}
    assert figures[audit.FOUND["dropped"].name, FLOW, "lossy"] == 3
    assert figures[audit.FOUND["corrupted"].name, FLOW, "lossy"] == 0
    assert figures[audit.UNVERIFIABLE.name, FLOW, "expired"] == 2
