"""A probe on its way through Kafka."""

from mirrorwatch.domain.canary.model import ProbeMessage
from tests.domain.canary.world import START


def test_a_message_survives_the_wire() -> None:
    message = ProbeMessage(
        run="r", flow="a->b", partition=3, sequence=9, sent_at=START
    )
    assert len(message.encode()) == 256
    assert ProbeMessage.decode(message.encode()) == message
    assert ProbeMessage.decode(None) is None
    assert ProbeMessage.decode(b'{"run": 1}') is None
    assert ProbeMessage.decode(b"\xff\x00") is None
