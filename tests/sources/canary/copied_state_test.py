"""Another agent gives numbers again that this one gave long ago."""

from dataclasses import replace

from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch.sources.canary.consumer import ReadProbe
from mirrorwatch.sources.canary.encoding import Json
from mirrorwatch.sources.canary.producer import SendResult
from mirrorwatch.sources.canary.worker import SENT_KEPT
from tests.sources.canary.keeper_test import SECOND, kept
from tests.support.builders import NOON


def test_its_probes_are_neither_duplicates_nor_recovered() -> None:
    """It was started now, with a copy of the state file of a while ago."""
    keeper, _ = kept()
    ledger = keeper.tracker.ledgers[0]
    now, target = NOON, 0

    def read(message: ProbeMessage) -> None:
        nonlocal target
        keeper.read(
            ReadProbe(
                partition=0,
                offset=target,
                value=Json().encode(message, 200),
                seen_at=now,
                absent_until=now,
            )
        )
        target += 1

    messages = []
    for source in range(SENT_KEPT + 10):
        message = keeper.make_probe(0, now)
        messages.append(message)
        sent = SendResult(message=message, source_offset=source)
        keeper.note_result(sent, now)
        if message.sequence != 4:  # which is lost
            read(message)
        now += SECOND
    keeper.settle(now, 30 * SECOND)
    assert ledger.counts.lost == 1
    for message in messages[:5]:
        read(replace(message, sent_at=now))
        now += SECOND
    assert (ledger.counts.duplicates, ledger.counts.recovered) == (0, 0)
    assert 4 in ledger.lost
