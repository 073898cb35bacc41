"""Set-ups that are broken in one way each, and what `doctor` says of them."""

import json
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import trustme
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.acls import Right, topic_rights
from mirrorwatch_lab import Lab
from tests.support.http import Answer, answering
from tests.support.lab import FLUSH_SECONDS
from tests.support.rights import DENIED, RIGHTS, expect, holding, on
from tests.support.schemas import StandInRegistry, standing_in
from tests.support.secured import taken
from tests.support.tcp import black_hole, closed_port, frozen

__all__ = ["CARRIED", "ORDERS", "SEEN", "SETUPS", "BrokenSetup", "Scene"]

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a set-up may change: the configuration first of all."""

    lab: Lab
    data: dict[str, Any]
    stack: ExitStack
    folder: Path

    def kafka(self, alias: str = "summit") -> dict[str, str]:
        found: dict[str, str] = self.data["clusters"][alias]["kafka"]
        return found

    @property
    def port(self) -> int:
        return int(self.kafka()["bootstrap.servers"].rpartition(":")[2])

    @property
    def flow(self) -> dict[str, Any]:
        found: dict[str, Any] = self.data["flows"][0]
        return found

    def at(self, port: int, host: str = LOOPBACK) -> None:
        self.kafka()["bootstrap.servers"] = f"{host}:{port}"

    def serve(self, answer: Answer, tls: ssl.SSLContext | None = None) -> str:
        return self.stack.enter_context(answering(answer, tls)).url

    def sink(self, **sink: Any) -> None:
        self.data["sinks"] = sink


@dataclass(frozen=True, kw_only=True)
class BrokenSetup:
    """One fault, and the one finding that it is."""

    name: str
    breaks: Callable[[Scene], None]
    subject: str = "cluster summit"
    check: str
    cause: str
    remedy: str
    warning: bool = False
    long: bool = True


# Connections


def stranger(
    scene: Scene,
    *,
    not_before: datetime | None = None,
    not_after: datetime | None = None,
) -> None:
    """Have a listener of another authority, which is trusted."""
    authority, file = trustme.CA(), scene.folder / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(
        LOOPBACK, not_before=not_before, not_after=not_after
    ).configure_cert(context)
    url = scene.serve(Answer(), context)
    scene.kafka()["ssl.ca.location"] = str(file)
    scene.at(int(url.rpartition(":")[2]))


def expired(scene: Scene) -> None:
    now = utc_now()
    stranger(
        scene,
        not_before=now - timedelta(days=9),
        not_after=now - timedelta(days=1),
    )


def of_tomorrow(scene: Scene) -> None:
    stranger(scene, not_before=utc_now() + timedelta(days=1))


def wrong_ca(scene: Scene) -> None:
    file = scene.folder / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    scene.kafka()["ssl.ca.location"] = str(file)


def a_frozen_broker(scene: Scene) -> None:
    scene.lab.source.freeze()
    scene.stack.callback(scene.lab.source.thaw)


def no_login(scene: Scene) -> None:
    kafka = scene.kafka()
    for key in ("sasl.mechanism", "sasl.username", "sasl.password"):
        del kafka[key]
    kafka["security.protocol"] = "SSL"


def setting(key: str, value: str) -> Callable[[Scene], None]:
    return lambda scene: scene.kafka().update({key: value})


def one_cluster(scene: Scene) -> None:
    scene.kafka("ldf").update(scene.kafka())


REJECTED = "sasl: summit rejects mirrorwatch's credentials".partition(": ")[2]

CONNECTIONS = [
    BrokenSetup(
        name="wrong port",
        breaks=lambda scene: scene.at(closed_port()),
        check="tcp",
        cause=f"cannot reach {LOOPBACK}:",
        remedy="host and port in clusters.summit.kafka",
    ),
    BrokenSetup(
        name="wrong DNS name",
        breaks=lambda scene: scene.at(9092, "no-such-host.invalid"),
        check="tcp",
        cause="cannot reach no-such-host.invalid",
        remedy="host and port in clusters.summit.kafka",
    ),
    BrokenSetup(
        name="black hole",
        breaks=lambda scene: scene.at(scene.stack.enter_context(black_hole())),
        check="tcp",
        cause="timed out",
        remedy="the network",
    ),
    BrokenSetup(
        name="listener that says nothing",
        breaks=lambda scene: scene.at(scene.stack.enter_context(frozen())),
        check="tls",
        cause="does not speak TLS (",
        remedy="Check that it runs",
    ),
    BrokenSetup(
        name="wrong CA",
        breaks=wrong_ca,
        check="tls",
        cause="is rejected: ",
        remedy="PEM file of the CA that signed it",
    ),
    BrokenSetup(
        name="wrong host name",
        breaks=lambda scene: scene.at(scene.port, "localhost"),
        check="tls",
        cause="is rejected: Hostname mismatch",
        remedy="Connect by a name of the certificate",
    ),
    BrokenSetup(
        name="wrong password",
        breaks=setting("sasl.password", "hunter2hunter2"),
        check="sasl",
        cause=REJECTED,
        remedy="sasl.password",
    ),
    BrokenSetup(
        name="wrong user",
        breaks=setting("sasl.username", "nobody"),
        check="sasl",
        cause=REJECTED,
        remedy="Check sasl.username",
    ),
    BrokenSetup(
        name="wrong mechanism",
        breaks=setting("sasl.mechanism", "PLAIN"),
        check="sasl",
        cause="supported mechanisms: SCRAM",
        remedy="sasl.mechanism",
    ),
    BrokenSetup(
        name="no TLS",
        breaks=setting("security.protocol", "SASL_PLAINTEXT"),
        check="tls",
        cause="requires TLS",
        remedy="Set clusters.summit.kafka.security",
    ),
    BrokenSetup(
        name="no login",
        breaks=no_login,
        check="metadata",
        cause="does not answer",
        remedy="security.protocol",
    ),
    BrokenSetup(
        name="another cluster",
        breaks=lambda scene: scene.data["clusters"]["summit"].update(
            cluster_id="anotherclusterXXXXXXXX"
        ),
        check="cluster-id",
        cause="not anotherclusterXXXXXXXX",
        remedy="Check bootstrap.servers",
    ),
]

MORE_CONNECTIONS = [
    BrokenSetup(
        name="frozen broker",
        breaks=a_frozen_broker,
        check="tls",
        cause="does not speak TLS (",
        remedy="Check that it runs",
    ),
    BrokenSetup(
        name="expired certificate",
        breaks=expired,
        check="tls",
        cause="has expired",
        remedy="Renew it",
    ),
    BrokenSetup(
        name="certificate of tomorrow",
        breaks=of_tomorrow,
        check="tls",
        cause="is not yet valid",
        remedy="Check the clock",
    ),
    BrokenSetup(
        name="another server",
        breaks=stranger,
        check="metadata",
        cause="summit does not answer",
        remedy="the port",
    ),
    BrokenSetup(
        name="one cluster twice",
        breaks=one_cluster,
        subject="flow summit->ldf",
        check="cluster-id",
        cause="summit and ldf are one cluster",
        remedy="Correct bootstrap.servers of one",
    ),
]


# Rights


def lacking(right: Right) -> BrokenSetup:
    """Return the set-up that lacks one of the rights that are needed."""

    def take(scene: Scene) -> None:
        scene.stack.callback(expect, scene.lab, right, None)
        scene.stack.enter_context(taken(scene.lab, right))
        expect(scene.lab, right, DENIED)

    alias = "summit" if right.side == "source" else "ldf"
    known = f": the check {right.check} is unknown without it"
    unknown = known if right in CARRIED else ""
    return BrokenSetup(
        name=f"no {right} at {alias}",
        breaks=take,
        subject="flow summit->ldf",
        check="rights",
        cause=f"mirrorwatch lacks {right} at {alias}{unknown}",
        remedy=f"kafka-acls.sh --add --topic {right.topic} ",
        warning=right.check != "canary",
    )


ORDERS = "orders"
"""A topic of the flow, beside the canary's."""

SEEN = Right(side="source", operation="READ", topic=ORDERS, purpose="")
"""What lets the agent see that there is one."""

CARRIED = [
    right
    for right in topic_rights([ORDERS], lambda name: name)
    if right.kind == "topic"
    and (right.side, right.operation) != ("source", "DESCRIBE")
]


def with_schemas(scene: Scene) -> None:
    """Configure schema registries: records at the target are then read."""
    for alias in ("summit", "ldf"):
        registry = scene.stack.enter_context(standing_in(StandInRegistry()))
        scene.data["clusters"][alias]["schema_registry"] = {
            "url": registry.url
        }


# Mirror


def mirror(**keys: Any) -> Callable[[Scene], None]:
    return lambda scene: scene.flow["mirror"].update(keys)


def filtered_canary(scene: Scene) -> None:
    """Have a canary topic that MirrorMaker never copies, by its name."""
    name = "canary.replica"
    scene.lab.source.topics.create(name, 1, {})
    scene.stack.callback(scene.lab.source.topics.delete, name)
    own = [
        right
        for right in RIGHTS
        if right.side == "source" and right.topic == "mirrorwatch.canary"
    ]
    scene.stack.enter_context(holding(scene.lab, *on(name, *own)))
    scene.flow["canary"]["topic"] = name


def no_such_topic(kind: str) -> Callable[[Scene], None]:
    """Name an internal topic that is not there, and may be read."""
    name = f"no-such-{kind}"
    side = "source" if kind == "syncs" else "target"

    def rename(scene: Scene) -> None:
        (like,) = (r for r in RIGHTS if r.side == side and _is(r, kind))
        site = scene.lab.source if side == "source" else scene.lab.target
        right = replace(like, topic=name)
        site.grants.grant([right])
        scene.stack.callback(site.grants.revoke, [right])
        scene.flow["mirror"]["topics"] = {kind: name}

    return rename


def _is(right: Right, kind: str) -> bool:
    word = {"syncs": "offset-syncs", "offsets": "mm2-offsets"}
    return word.get(kind, kind) in right.topic


def clock_ahead(scene: Scene) -> None:
    """Write a heartbeat of a machine whose clock is ten minutes ahead."""
    security: Any = scene.lab.source.security
    producer = Producer(
        {
            "bootstrap.servers": scene.lab.source.bootstrap,
            **security.administrator(),
        }
    )
    ahead = int((utc_now().timestamp() + 600) * 1000)
    producer.produce("heartbeats", b"", key=b"-", timestamp=ahead)
    assert producer.flush(FLUSH_SECONDS) == 0


def another_kind(scene: Scene) -> None:
    scene.flow["mirror"] = {"kind": "mirrormaker1", "group": "mm1"}
    # Which can only be a canary whose topics both are there.
    del scene.flow["canary"]["sized"]


FLOW = "flow summit->ldf"

MIRRORS = [
    BrokenSetup(
        name="another alias of the source",
        breaks=mirror(source_alias="cerro"),
        subject=FLOW,
        check="internal-topics",
        cause="mirrorwatch does not see mm2-offsets.cerro.internal, "
        "mm2-configs.cerro.internal at ldf",
        remedy="mirror.source_alias",
    ),
    BrokenSetup(
        name="another alias of the target",
        breaks=mirror(target_alias="base"),
        subject=FLOW,
        check="connectors",
        cause="no MirrorSourceConnector replicates summit->base; there are "
        "summit->ldf",
        remedy="Set mirror.source_alias and mirror.target_alias",
    ),
    BrokenSetup(
        name="another place of the offset syncs",
        breaks=mirror(syncs_location="target"),
        subject=FLOW,
        check="syncs-location",
        cause="keep their offset-syncs at the source",
        remedy="Set mirror.syncs_location to source",
    ),
    BrokenSetup(
        name="another kind of mirror",
        breaks=another_kind,
        subject=FLOW,
        check="mirror",
        cause="there are topics of MirrorMaker 2: mm2-",
        remedy="Set mirror.kind to mirrormaker2",
    ),
    BrokenSetup(
        name="no offset syncs",
        breaks=no_such_topic("syncs"),
        subject=FLOW,
        check="internal-topics",
        cause="does not see no-such-syncs at summit",
        remedy="there is mm2-offset-syncs.",
    ),
    BrokenSetup(
        name="no offsets",
        breaks=no_such_topic("offsets"),
        subject=FLOW,
        check="internal-topics",
        cause="does not see no-such-offsets at ldf",
        remedy="there is mm2-offsets.",
    ),
    BrokenSetup(
        name="no checkpoints",
        breaks=no_such_topic("checkpoints"),
        subject=FLOW,
        check="internal-topics",
        cause="does not see no-such-checkpoints at ldf",
        remedy="there is summit.checkpoints.internal",
        warning=True,
    ),
    BrokenSetup(
        name="another policy",
        breaks=lambda scene: scene.flow.update(naming="default"),
        subject=FLOW,
        check="policy",
        cause="uses the IdentityReplicationPolicy",
        remedy="Set naming to identity",
    ),
    BrokenSetup(
        name="another separator",
        breaks=mirror(separator="_"),
        subject=FLOW,
        check="separator",
        cause="uses the separator '.'",
        remedy="Set mirror.separator to '.'",
    ),
    BrokenSetup(
        name="filter without the canary topic",
        breaks=filtered_canary,
        subject=FLOW,
        check="canary-filter",
        cause="leaves out the canary topic canary.replica",
        remedy="Add canary[.]replica to topics",
    ),
    BrokenSetup(
        name="no topic of the flow",
        breaks=lambda scene: scene.flow.update(
            topics={"include": ["no-such-topic"]}
        ),
        subject=FLOW,
        check="rights",
        cause="mirrorwatch sees no topic of summit->ldf at summit",
        remedy="topics.include",
        warning=True,
    ),
    BrokenSetup(
        name="schemas that may not be read",
        breaks=with_schemas,
        subject=FLOW,
        check="rights",
        cause=f"mirrorwatch lacks READ on topic {ORDERS} at ldf: the "
        "check schemas is unknown without it",
        remedy=f"kafka-acls.sh --add --topic {ORDERS} --operation Read",
        warning=True,
    ),
    BrokenSetup(
        name="an audit that may not read",
        breaks=lambda scene: scene.data.update(audit={}),
        subject=FLOW,
        check="rights",
        cause=f"mirrorwatch lacks READ on topic {ORDERS} at ldf: the check "
        "audit is unknown without it",
        remedy=f"kafka-acls.sh --add --topic {ORDERS} --operation Read",
        warning=True,
    ),
]


# Servers beside Kafka


def registry(scene: Scene, url: str) -> None:
    scene.data["clusters"]["summit"]["schema_registry"] = {"url": url}


def connect(scene: Scene, url: str) -> None:
    scene.flow["mirror"]["connect"] = {"url": url}


def influxdb(scene: Scene, url: str) -> None:
    scene.sink(
        influxdb={
            "url": url,
            "org": "efd",
            "bucket": "mirrorwatch",
            "token": "hunter2hunter2",
        }
    )


def refusing(status: int, code: str) -> Answer:
    body = {"code": code, "message": "no"}
    return Answer(status=status, body=json.dumps(body).encode())


def jolokia(scene: Scene, url: str) -> None:
    scene.flow["mirror"]["jmx"] = {"format": "jolokia", "urls": [url]}


def web_hook(scene: Scene) -> None:
    url = "https://no-such-host.invalid/hunter2hunter2"
    one = {"name": "hook", "kind": "webhook", "url": url}
    scene.sink(notify={"receivers": [one]})


def nobody() -> str:
    return f"http://{LOOPBACK}:{closed_port()}"


SERVERS = [
    BrokenSetup(
        name="registry at a wrong port",
        breaks=lambda scene: registry(scene, nobody()),
        subject="schema registry summit",
        check="registry",
        cause="The schema registry of summit cannot be reached",
        remedy="Check that it runs, clusters.summit.schema_registry",
    ),
    BrokenSetup(
        name="registry that wants another login",
        breaks=lambda scene: registry(scene, scene.serve(Answer(status=401))),
        subject="schema registry summit",
        check="registry",
        cause="rejects mirrorwatch (status 401)",
        remedy="Check username and password of clusters.summit.schema",
    ),
    BrokenSetup(
        name="registry under a wrong path",
        breaks=lambda scene: registry(
            scene, scene.serve(Answer(status=404, body=b"<html>"))
        ),
        subject="schema registry summit",
        check="registry",
        cause="leads to another server",
        remedy="Check the path in clusters.summit.schema_registry.url",
    ),
    BrokenSetup(
        name="registry that hangs",
        breaks=lambda scene: registry(scene, scene.serve(Answer(never=True))),
        subject="schema registry summit",
        check="registry",
        cause="The schema registry of summit cannot be reached (",
        remedy="Check that it runs",
    ),
    BrokenSetup(
        name="Connect at a wrong port",
        breaks=lambda scene: connect(scene, nobody()),
        subject="Connect summit->ldf",
        check="connect",
        cause="Connect's REST API of summit->ldf cannot be reached",
        remedy="Check the worker, mirror.connect",
    ),
    BrokenSetup(
        name="Connect that wants another login",
        breaks=lambda scene: connect(scene, scene.serve(Answer(status=401))),
        subject="Connect summit->ldf",
        check="connect",
        cause="rejects mirrorwatch (status 401)",
        remedy="username and password under mirror.connect",
    ),
    BrokenSetup(
        name="Jolokia at a wrong port",
        breaks=lambda scene: jolokia(scene, nobody() + "/jolokia"),
        subject="JMX summit->ldf",
        check="jmx",
        cause="cannot connect",
        remedy="mirror.jmx",
    ),
    BrokenSetup(
        name="Jolokia under a wrong path",
        breaks=lambda scene: jolokia(
            scene, scene.lab.mirror.jolokia_url.replace("jolokia", "other")
        ),
        subject="JMX summit->ldf",
        check="jmx",
        cause="other",
        remedy="mirror.jmx",
    ),
    BrokenSetup(
        name="InfluxDB at a wrong port",
        breaks=lambda scene: influxdb(scene, nobody()),
        subject="InfluxDB",
        check="influxdb",
        cause="InfluxDB",
        remedy="Check url of sinks.influxdb",
    ),
    BrokenSetup(
        name="wrong token of InfluxDB",
        breaks=lambda scene: influxdb(
            scene, scene.serve(refusing(401, "unauthorized"))
        ),
        subject="InfluxDB",
        check="influxdb",
        cause="answered 401",
        remedy="Correct token of",
    ),
    BrokenSetup(
        name="no bucket of InfluxDB",
        breaks=lambda scene: influxdb(
            scene, scene.serve(refusing(404, "not found"))
        ),
        subject="InfluxDB",
        check="influxdb",
        cause="answered 404",
        remedy="Create 'mirrorwatch', or correct",
    ),
    BrokenSetup(
        name="web hook of a wrong name",
        breaks=web_hook,
        subject="receiver hook",
        check="tcp",
        cause="cannot reach ",
        remedy="url and ca of the receiver hook",
    ),
]

LAST = [
    # Its record stays.
    BrokenSetup(
        name="a clock that is ahead",
        breaks=clock_ahead,
        subject=FLOW,
        check="clocks",
        cause="a heartbeat in heartbeats at summit is ",
        remedy="Synchronise the clocks",
        warning=True,
    )
]

SETUPS = [
    *(replace(one, long=n % 2 > 0) for n, one in enumerate(CONNECTIONS)),
    *MORE_CONNECTIONS,
    *map(lacking, [*RIGHTS, *CARRIED]),
    *MIRRORS,
    *SERVERS,
    *LAST,
]
"""One row for each, in the order in which a lab goes through them."""
