"""What proves that a probe is lost, and what proves nothing."""

from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.canary.tracker import prove, settle
from tests.domain.canary.ledgers import LATER, PROOF, see, warmed
from tests.domain.canary.world import GRACE, START


def test_time_alone_never_loses_a_probe() -> None:
    ledger = warmed(sent=50)
    assert settle(ledger, START + timedelta(days=30), GRACE) == []
    assert ledger.counts.lost == 0


def test_a_committed_offset_past_a_probe_that_is_not_there_proves_loss() -> (
    None
):
    ledger = warmed()
    prove(ledger, PROOF)
    (loss,) = settle(ledger, LATER, None)
    assert (loss.sequence, loss.source_offset) == (2, 1)
    assert "Committed offset is 2" in loss.proof


def test_nothing_is_lost_before_the_target_is_read_to_the_end() -> None:
    ledger = warmed()
    prove(ledger, replace(PROOF, end=2))
    assert settle(ledger, LATER, None) == []
    see(ledger, 2, at=1, after=61)
    assert settle(ledger, LATER, None) == []
    assert ledger.counts.lost == 0


def test_a_position_at_the_probe_does_not_pass_it() -> None:
    ledger = warmed()
    prove(ledger, replace(PROOF, position=1))
    assert settle(ledger, LATER, None) == []


def test_a_position_that_waits_for_its_grace_proves_nothing_yet() -> None:
    ledger = warmed()
    prove(ledger, replace(PROOF, counts_at=LATER))
    assert settle(ledger, LATER - timedelta(seconds=1), None) == []
    assert len(settle(ledger, LATER, None)) == 1


def test_a_position_of_a_deleted_topic_proves_nothing() -> None:
    ledger = warmed()
    ledger.renew_source()
    probe = ledger.send(START + timedelta(seconds=50))
    ledger.ack(probe.sequence, 0, START + timedelta(seconds=50))
    prove(ledger, replace(PROOF, incarnation=2))
    assert settle(ledger, LATER, GRACE) == []
    # Nor does one from before the mirror was seen to read the new topic.
    see(ledger, probe.sequence, at=1, after=59)
    follower = ledger.send(START + timedelta(seconds=59))
    ledger.ack(follower.sequence, 1, START + timedelta(seconds=59))
    prove(ledger, replace(PROOF, incarnation=2))
    assert follower.sequence not in {
        loss.sequence for loss in settle(ledger, LATER, None)
    }


def test_a_later_arrival_proves_loss_after_the_grace_if_order_is_known() -> (
    None
):
    ledger = warmed(sent=3)
    see(ledger, 3, at=1)
    seen_at = START + timedelta(seconds=1)
    assert settle(ledger, seen_at + GRACE, GRACE) == []
    assert settle(ledger, LATER, None) == []
    (loss,) = settle(ledger, LATER, GRACE)
    assert loss.sequence == 2


def test_only_a_higher_source_offset_overtakes() -> None:
    ledger = warmed(sent=1)
    slow, quick = ledger.send(START), ledger.send(START)
    ledger.ack(quick.sequence, 1, START)
    ledger.ack(slow.sequence, 2, START)
    see(ledger, quick.sequence, at=1)
    assert settle(ledger, LATER, GRACE) == []


def test_the_new_topic_arriving_proves_the_old_ones_lost() -> None:
    ledger = warmed()
    ledger.renew_source()
    probe = ledger.send(START)
    ledger.ack(probe.sequence, 0, START)
    assert settle(ledger, LATER, GRACE) == []
    see(ledger, probe.sequence, at=1)
    (loss,) = settle(ledger, LATER, GRACE)
    assert loss.sequence == 2


def test_an_acked_probe_is_not_doubted() -> None:
    ledger = warmed()
    ledger.doubt_unacked()
    assert ledger.counts.indeterminate == 0


def test_a_lost_probe_that_arrives_is_recovered_and_stays_counted() -> None:
    ledger = warmed(sent=3)
    see(ledger, 3, at=1)
    settle(ledger, LATER, GRACE)
    see(ledger, 2, at=2, after=4000)
    assert (ledger.counts.lost, ledger.counts.recovered) == (1, 1)
    assert (ledger.counts.duplicates, len(ledger.lost)) == (0, 0)
    see(ledger, 2, at=3, after=4001)
    assert ledger.counts.duplicates == 1


def test_an_indeterminate_send_is_never_lost() -> None:
    ledger = warmed()
    probe = ledger.send(START)
    ledger.doubt(probe.sequence)
    prove(ledger, replace(PROOF, position=99))
    lost = {loss.sequence for loss in settle(ledger, LATER, GRACE)}
    assert lost == {2}
    assert ledger.counts.indeterminate == 1


def test_what_may_have_gone_unread_is_unverifiable_and_not_lost() -> None:
    ledger = warmed()
    ledger.skip_target(7)
    prove(ledger, PROOF)
    assert settle(ledger, LATER, GRACE) == []
    assert (ledger.counts.unverifiable, ledger.counts.lost) == (1, 0)
    see(ledger, 2, at=8)
    assert ledger.counts.recovered == 1
