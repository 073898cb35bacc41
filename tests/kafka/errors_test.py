"""Nothing is left behind of an answer once it was read."""

import ctypes
import weakref
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import TopicDescription

from mirrorwatch.kafka.errors import answer_of, free_leaked_id


class Id:
    """Stands for the library's id, which nothing can refer to weakly."""


def a_topic() -> TopicDescription:
    made: Any = Id()
    return TopicDescription("t", made, is_internal=False, partitions=[])


def test_a_forgotten_reference_is_given_back() -> None:
    topic = a_topic()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(topic.topic_id))
    gone = weakref.ref(topic.topic_id)
    free_leaked_id(topic)
    assert gone() is topic.topic_id
    del topic
    assert gone() is None


def test_an_id_of_which_none_was_forgotten_stays() -> None:
    topic = a_topic()
    held = weakref.ref(topic.topic_id)
    for _ in range(3):
        free_leaked_id(topic)
    assert held() is topic.topic_id


def test_what_kafka_said_holds_no_frame() -> None:
    future: Future[str] = Future()
    said = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    future.set_exception(said)
    assert answer_of(future, 1) is said
    assert said.__traceback__ is None


def test_an_answer_that_does_not_come_is_waited_for_in_vain() -> None:
    with pytest.raises(TimeoutError):
        answer_of(Future[str](), 0.01)
