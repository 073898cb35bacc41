"""A probe on its way through Kafka."""

from mirrorwatch.domain.canary.model import Message
from tests.domain.canary.world import START


def test_a_message_survives_the_wire() -> None:
    message = Message(
        run="r", flow="a->b", partition=3, sequence=9, sent_at=START
    )
    assert len(message.encode()) == 256
    assert Message.decode(message.encode()) == message
    assert Message.decode(None) is None
    assert Message.decode(b'{"run": 1}') is None
    assert Message.decode(b"\xff\x00") is None
