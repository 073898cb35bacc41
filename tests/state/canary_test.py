from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.domain.canary.model import Loss
from mirrorwatch.domain.canary.tracker import Ledger, settle
from mirrorwatch.exceptions import StateError
from mirrorwatch.state import Database, canary
from mirrorwatch.state.canary import CanaryStore
from tests.domain.canary.world import GRACE, START, World


def lived() -> World:
    world = World()
    world.do("send", "ack", "copy", "consume", "send", "send", "ack", "drop")
    world.do("copy", "consume", "wait", "wait", "send", "lose_acks")
    world.do("send_into_the_void", "copy")
    return world


def test_the_books_are_read_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    ledger = lived().ledger
    losses = settle(ledger, START + timedelta(hours=1), GRACE)
    assert losses
    database = Database(path)
    store = CanaryStore(database, "f")
    store.identity.source_id = "one"
    store.save([ledger], losses)
    database.close()

    reopened = Database(path)
    again = CanaryStore(reopened, "f")

    assert again.run == store.run
    assert again.identity.source_id == "one"
    assert again.load() == {0: ledger}
    assert again.losses() == losses
    reopened.close()


def test_a_probe_that_is_settled_leaves_the_file() -> None:
    store = CanaryStore(Database(None), "f")
    world = World()
    world.send()
    store.save([world.ledger])
    assert set(store.load()[0].outstanding) == {1}
    world.ack()
    world.copy()
    world.consume()
    store.save([world.ledger])
    assert store.load()[0].outstanding == {}


def test_nothing_is_stored_when_a_part_cannot_be() -> None:
    database = Database(None)
    store = CanaryStore(database, "f")
    world = World()
    world.send()
    store.save([world.ledger])
    with database.transaction() as sql:
        sql.execute("DROP TABLE canary_loss")
    world.send()
    lost = Loss(
        flow="f",
        partition=0,
        sequence=1,
        source_offset=0,
        sent_at=START,
        proved_at=START,
        proof="it is not there",
    )
    with pytest.raises(StateError):
        store.save([world.ledger], [lost])
    assert store.load()[0].next_sequence == 2
    assert world.ledger.touched == {2}


def test_the_identity_goes_back_to_the_file_with_the_books() -> None:
    store = CanaryStore(Database(None), "f")
    store.identity.target_id = "never saved"
    store.load()
    assert store.identity.target_id is None


def test_flows_do_not_see_each_other() -> None:
    database = Database(None)
    one, two = CanaryStore(database, "one"), CanaryStore(database, "two")
    ledger = Ledger(flow="one", partition=0)
    ledger.send(START)
    one.save([ledger])
    assert two.load() == {}
    assert one.run != two.run


def test_named_losses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "LOSSES_KEPT", 20)
    store = CanaryStore(Database(None), "f")
    ledger = lived().ledger
    (loss,) = settle(ledger, START + timedelta(hours=1), GRACE)
    store.save([ledger], [loss] * 25)
    assert len(store.losses()) == 20


def test_losses_of_another_flow_push_none_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(canary, "LOSSES_KEPT", 20)
    database = Database(None)
    one, two = CanaryStore(database, "one"), CanaryStore(database, "two")
    ledger = lived().ledger
    (loss,) = settle(ledger, START + timedelta(hours=1), GRACE)
    one.save([], [loss] * 5)
    two.save([], [loss] * 20)
    one.save([], [loss])
    assert len(one.losses()) == 6
