from datetime import UTC, datetime, timedelta

from mirrorwatch.domain.bottleneck.model import ErrorCounters, TaskErrors
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
EARLIER = NOON - timedelta(minutes=20)
ONE = ("http://a", "MirrorSourceConnector", 0)
TWO = ("http://b", "MirrorSourceConnector", 1)


def failed(count: int, retries: int = 0) -> TaskErrors:
    return TaskErrors(
        record_failures=count, record_errors=count, retries=retries
    )


def test_errors_of_all_tasks_are_counted_once() -> None:
    books = ErrorCounters()
    for _ in range(3):
        books = books.count({ONE: failed(3), TWO: failed(4)}, EARLIER, NOON)
    assert books.counted == failed(7)
    assert books.last_lost == EARLIER


def test_a_task_that_starts_anew_counts_from_zero() -> None:
    books = ErrorCounters().count({ONE: failed(3)}, EARLIER, NOON)
    books = books.count({ONE: failed(2)}, None, NOON)
    assert books.counted.record_failures == 5
    assert books.last_lost == NOON


def test_a_worker_that_was_away_does_not_count_again() -> None:
    books = ErrorCounters().count({ONE: failed(3)}, EARLIER, NOON)
    books = books.count({}, None, NOON).count({ONE: failed(3)}, EARLIER, NOON)
    assert books.counted.record_failures == 3


def test_losses_of_long_ago_are_told_apart_from_those_of_now() -> None:
    books = ErrorCounters().count({ONE: failed(3)}, EARLIER, NOON)
    books = books.count({ONE: failed(5)}, NOON, NOON)
    # Errors that lose nothing are no part of it.
    books = books.count({ONE: failed(5, retries=9)}, NOON, NOON)
    assert books.lately == failed(5)
    later = NOON + timedelta(minutes=61)
    books = books.count({ONE: failed(12, retries=9)}, later, later)
    assert books.lately == failed(7)
    assert books.counted == failed(12, retries=9)


def test_retries_lose_nothing() -> None:
    books = ErrorCounters().count({ONE: failed(0, retries=5)}, EARLIER, NOON)
    assert books.counted.retries == 5
    assert books.last_lost is None


def test_an_error_of_the_future_is_of_now() -> None:
    later = NOON + timedelta(hours=1)
    books = ErrorCounters().count({ONE: failed(1)}, later, NOON)
    assert books.last_lost == NOON


def test_nothing_new_changes_nothing() -> None:
    books = ErrorCounters().count({ONE: failed(1)}, EARLIER, NOON)
    assert books.count({ONE: failed(1)}, EARLIER, NOON) is books


def test_counters_survive_a_restart() -> None:
    database = Database(None)
    books = ErrorCounters().count({ONE: failed(3)}, EARLIER, NOON)
    DocumentStore(database, "a", "mirror_errors", ErrorCounters).save(books)
    assert (
        DocumentStore(database, "a", "mirror_errors", ErrorCounters).load()
        == books
    )
    assert (
        DocumentStore(database, "b", "mirror_errors", ErrorCounters).load()
        == ErrorCounters()
    )
