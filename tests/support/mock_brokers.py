"""librdkafka's own mock brokers, with the faults that it can give them."""

import ctypes
from typing import Any

from confluent_kafka import cimpl

__all__ = ["LIST_OFFSETS", "MockBrokers"]

LIST_OFFSETS = 2

PRODUCER = 0
"""librdkafka's number of the kind of client that hosts the brokers."""


class MockBrokers:
    """A cluster in this process, until it is closed.

    Parameters
    ----------
    brokers
        How many; they are numbered from 1.
    """

    def __init__(self, brokers: int) -> None:
        self._library = library = ctypes.CDLL(cimpl.__file__)
        for name in (
            "rd_kafka_new",
            "rd_kafka_mock_cluster_new",
            "rd_kafka_mock_cluster_bootstraps",
        ):
            getattr(library, name).restype = ctypes.c_void_p
        text = ctypes.create_string_buffer(256)
        client = library.rd_kafka_new(PRODUCER, None, text, len(text))
        assert client, text.value
        self._client = ctypes.c_void_p(client)
        self._cluster = ctypes.c_void_p(
            library.rd_kafka_mock_cluster_new(self._client, brokers)
        )
        found = library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        self.servers = ctypes.string_at(found).decode()

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic; partition 0 is led by broker 1, and so on."""
        self._call("topic_create", topic.encode(), partitions, 1)
        for partition in range(partitions):
            self.lead(topic, partition, partition + 1)

    def lead(self, topic: str, partition: int, broker: int) -> None:
        """Let a broker lead a partition; none if it is -1."""
        self._call("partition_set_leader", topic.encode(), partition, broker)

    def delay(self, broker: int, milliseconds: int) -> None:
        """Let each answer of a broker take so long."""
        self._call("broker_set_rtt", broker, milliseconds)

    def stop(self, broker: int) -> None:
        """Take a broker down."""
        self._call("broker_set_down", broker)

    def refuse(self, broker: int, request: int, *codes: int) -> None:
        """Let a broker answer the next requests of a kind with errors."""
        answers = [ctypes.c_int(x) for code in codes for x in (code, 0)]
        self._call(
            "broker_push_request_error_rtts",
            broker,
            ctypes.c_int16(request),
            ctypes.c_size_t(len(codes)),
            *answers,
        )

    def close(self) -> None:
        """Give back what it took."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, f"rd_kafka_mock_{name}")
        assert function(self._cluster, *arguments) == 0
