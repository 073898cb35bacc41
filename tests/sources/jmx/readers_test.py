"""What readers make of answers, good and bad."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from mirrorwatch.domain.bottleneck.model import MBeanQuery
from mirrorwatch.exceptions import ConfigError, SourceUnavailableError
from mirrorwatch.sources.jmx.readers import (
    JmxAddress,
    JmxReader,
    JolokiaReader,
    PrometheusReader,
    parse,
)
from tests.support.answers import Answer, answering

MANY = MBeanQuery(
    domain="d", type="t", keys={"topic": "*"}, numbers=("rate", "x-total")
)
ONE = MBeanQuery(domain="d", type="one", numbers=("rate",))
SECRET = "open-sesame"  # noqa: S105


def address(url: str, *, seconds: float = 60, **more: str) -> JmxAddress:
    return JmxAddress(
        url=url,
        cluster="ldf",
        timeout=timedelta(seconds=seconds),
        user=more.get("user"),
        password=more.get("password"),
    )


@contextmanager
def reading(
    kind: Callable[[JmxAddress], JmxReader],
    url: str,
    *,
    seconds: float = 60,
    **more: str,
) -> Iterator[JmxReader]:
    reader = kind(address(url, seconds=seconds, **more))
    yield reader
    reader.close()


def test_jolokia_is_asked_once_for_everything() -> None:
    body = json.dumps(
        [
            {
                "status": 200,
                "value": {
                    "d:topic=a.b,type=t": {"rate": 1.5, "x-total": None},
                    'd:type=t,topic="a|b"': {"rate": "ERROR: gone"},
                },
            },
            {"status": 200, "value": {"rate": 2}},
            {"status": 404, "error": "No MBean"},
        ]
    )
    with (
        answering(Answer(200, body.encode())) as server,
        reading(
            JolokiaReader, server.url, user="me", password=SECRET
        ) as reader,
    ):
        found = reader.read([MANY, ONE, MANY])
    assert server.logins == ["Basic bWU6b3Blbi1zZXNhbWU="]
    assert [(m.properties.get("topic"), m.attributes) for m in found] == [
        ("a.b", {"rate": 1.5}),
        ("a|b", {}),
        (None, {"rate": 2.0}),
    ]


def test_names_of_the_exporter_and_of_rules_are_turned_back() -> None:
    text = """# TYPE d_t_rate untyped
d_t_rate{topic="a.b"} 1.5
d_t_x{topic="a.b",instance="added"} 7
d_t_rate{topic="\\"a|b\\""} NaN
d_t_rate 99
d_t_rate{topic="a",partition="1"} 98
d_one_rate 2
unrelated_rate{topic="a.b"} 3
kafka_connect_connector_status{connector="c",task="0",status="failed"} 1
"""
    partitions = MBeanQuery(
        domain="d", type="u", keys={"topic": "*", "partition": "*"}
    )
    states = MBeanQuery(
        domain="kafka.connect",
        type="connector-task-metrics",
        keys={"connector": "*", "task": "*"},
        texts=("status",),
    )
    found = parse(text, [MANY, ONE, partitions, states])
    assert [(m.properties, m.attributes) for m in found] == [
        ({"type": "t", "topic": "a.b"}, {"rate": 1.5, "x-total": 7.0}),
        ({"type": "t", "topic": "a|b"}, {}),
        ({"type": "one"}, {"rate": 2.0}),
        (
            {"type": "connector-task-metrics", "connector": "c", "task": "0"},
            {"status": "failed"},
        ),
    ]


@pytest.mark.parametrize("kind", [JolokiaReader, PrometheusReader])
@pytest.mark.parametrize(
    ("status", "body", "saying"),
    [
        (401, "", "set mirror.jmx.user and mirror.jmx.password"),
        (403, "", "it refuses this login"),
        (404, "", "mirror.jmx.urls has a wrong path"),
        (500, "", "status 500"),
        (200, "<html>Hello</html>", "mirror.jmx.urls wants"),
        (200, "{}", "mirror.jmx.urls wants"),
        (200, "[1, 2]", "mirror.jmx.urls wants"),
    ],
)
def test_a_bad_answer_names_the_address_and_the_remedy(
    kind: Callable[[JmxAddress], JmxReader],
    status: int,
    body: str,
    saying: str,
) -> None:
    with (
        answering(Answer(status, body.encode())) as server,
        reading(kind, server.url, user="me", password=SECRET) as reader,
        pytest.raises(SourceUnavailableError) as error,
    ):
        reader.read([MANY, ONE])
    assert str(error.value).startswith(f"{server.url}: ")
    assert saying in str(error.value)
    told = json.dumps(error.value.to_logging_context()) + repr(
        address(server.url, user="me", password=SECRET)
    )
    assert SECRET not in told


@pytest.mark.parametrize("kind", [JolokiaReader, PrometheusReader])
def test_a_process_that_hangs_is_given_up_in_time(
    kind: Callable[[JmxAddress], JmxReader],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/x"
        begin = time.monotonic()
        with (
            reading(kind, url, seconds=0.5) as reader,
            pytest.raises(SourceUnavailableError, match=r"within 0\.5 s"),
        ):
            reader.read([MANY])
        assert time.monotonic() - begin < 60


@pytest.mark.parametrize("kind", [JolokiaReader, PrometheusReader])
def test_a_process_that_is_gone_is_said_to_be(
    kind: Callable[[JmxAddress], JmxReader],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/x"
    with (
        reading(kind, url) as reader,
        pytest.raises(SourceUnavailableError, match="process running"),
    ):
        reader.read([MANY])


def test_an_authority_that_cannot_be_read_is_a_matter_of_configuration(
    tmp_path: object,
) -> None:
    missing = JmxAddress(
        url="https://x",
        cluster="ldf",
        timeout=timedelta(seconds=1),
        ca=tmp_path / "no.pem",  # type: ignore[operator]
    )
    with pytest.raises(ConfigError, match=r"mirror\.jmx\.ca"):
        JolokiaReader(missing)
