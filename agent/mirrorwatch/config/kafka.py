"""Kafka clusters: librdkafka's own properties, with the secrets hidden."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from .base import ConfigProblem, Model
from .properties import Properties
from .types import HttpServer, HttpUrl, find_file_fault

__all__ = [
    "FILE_KEYS",
    "OWNED_PROPERTIES",
    "ClusterConfig",
    "JavaProperties",
    "KafkaProperties",
    "SchemaRegistryConfig",
]

OWNED_PROPERTIES = {
    "group.id": "it never joins a consumer group",
    "group.instance.id": "it never joins a consumer group",
    "group.protocol": "it never joins a consumer group",
    "enable.auto.commit": "it commits no offsets",
    "auto.commit.enable": "it commits no offsets",
    "enable.auto.offset.store": "it commits no offsets",
    "auto.offset.reset": "it reads from explicit offsets",
    "isolation.level": "it is set for each consumer",
    "enable.partition.eof": "it is set for each consumer",
    "enable.idempotence": "the canary requires an idempotent producer",
    "acks": "the canary requires acks=all",
    "request.required.acks": "the canary requires acks=all",
    "max.in.flight": "the canary requires order",
    "max.in.flight.requests.per.connection": "the canary requires order",
    "transactional.id": "transaction markers would look like skipped records",
    "message.timeout.ms": "it is derived from canary.deadline",
    "delivery.timeout.ms": "it is derived from canary.deadline",
    "allow.auto.create.topics": "it must not create topics implicitly",
}
"""Properties that the agent sets itself, and why."""

JAVA_PROPERTIES = {
    "sasl.jaas.config": "sasl.username and sasl.password",
    "ssl.truststore.location": "ssl.ca.location, a PEM file",
    "ssl.truststore.type": "ssl.ca.location, a PEM file",
    "ssl.truststore.password": "ssl.ca.location, a PEM file",
    "ssl.keystore.type": "ssl.certificate.location and ssl.key.location",
}
"""Properties that people copy from the mirror, and what librdkafka has."""

DANGEROUS = re.compile(
    r"plugin\.library\.paths|ssl\.engine\..*|ssl_engine.*|ssl\.providers"
    r"|test\.mock\..*|sasl\.kerberos\.kinit\.cmd|.*_cb|opaque|interceptors"
    r"|logger|on_delivery|on_commit|default[._]topic[._]conf(?:ig)?"
)
"""Properties that load code, run a program, or replace the cluster."""

SERVER = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?")
"""``HOST`` or ``HOST:PORT``; an IPv6 address stands in brackets."""

DEFAULT_PORT = 9092
"""librdkafka's."""

FILE_KEYS = (".location", ".keytab", ".file")
"""Ends of keys whose values are files that librdkafka opens."""

SERVERS = ("bootstrap.servers", "metadata.broker.list")
"""The two names of the first brokers to ask."""


class KafkaProperties(Properties):
    """Properties of a Kafka client by librdkafka's names."""

    kind = "librdkafka properties"

    @property
    def servers(self) -> str:
        """The first brokers to ask."""
        return next(self[name] for name in SERVERS if name in self)

    @property
    def brokers(self) -> frozenset[tuple[str, int]]:
        """Hosts and ports of the first brokers to ask."""
        found = set()
        for server in filter(None, map(str.strip, self.servers.split(","))):
            match = SERVER.fullmatch(server)
            port = match["port"] if match else None
            host = server.removesuffix(f":{port}").lower().rstrip(".")
            found.add((host, int(port or DEFAULT_PORT)))
        return frozenset(found)

    @property
    def protocol(self) -> str:
        """The security protocol, in capital letters."""
        return self.get("security.protocol", "plaintext").upper()

    @classmethod
    def find_faults(
        cls, properties: Mapping[str, Any]
    ) -> Iterator[ConfigProblem]:
        yield from _find_faults(properties)


def _find_faults(properties: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    if not any(properties.get(name) for name in SERVERS):
        yield ConfigProblem(
            (SERVERS[0],), "is missing; the brokers to ask first, as host:port"
        )
    for name in SERVERS:
        if isinstance(properties.get(name), str) and properties[name]:
            yield from _find_server_faults(name, properties[name])
    for key, value in properties.items():
        message = _find_fault(key, value)
        if message is not None:
            shown = DANGEROUS.fullmatch(key) is None
            yield ConfigProblem((key,), message, shows_value=shown)


def _find_fault(key: str, value: Any) -> str | None:
    if DANGEROUS.fullmatch(key):
        return (
            "is not allowed: it loads code, runs a program or replaces the "
            "cluster; remove it"
        )
    if key in OWNED_PROPERTIES:
        return f"the agent owns this one: {OWNED_PROPERTIES[key]}"
    if key in JAVA_PROPERTIES:
        return (
            f"is a property of Java clients; here it is {JAVA_PROPERTIES[key]}"
        )
    if value is None:
        return "has no value"
    if not isinstance(value, str | int | float):
        return "must be text (a date needs quotes), a number, true or false"
    return find_file_fault(str(value)) if key.endswith(FILE_KEYS) else None


def _find_server_faults(key: str, value: str) -> Iterator[ConfigProblem]:
    servers = [server.strip() for server in value.split(",")]
    matches = [SERVER.fullmatch(server) for server in servers]
    if "://" in value or "@" in value:
        yield ConfigProblem(
            (key,),
            "must be host:port, without a scheme, user or password; "
            "security.protocol says how to connect",
            shows_value=False,
        )
    elif not all(matches):
        yield ConfigProblem(
            (key,), "must be host:port, or several with commas between"
        )
    elif any(
        m and m["port"] and not 0 < int(m["port"]) < 65536 for m in matches
    ):
        yield ConfigProblem((key,), "must have ports from 1 to 65535")


class SchemaRegistryConfig(HttpServer):
    """A schema registry with Confluent's API."""

    url: HttpUrl = Field(title="URL")
    """URL of the registry, including its path (`/apis/ccompat/v7` for
    Apicurio)."""

    topic: str | None = Field(None, title="Topic", min_length=1)
    """Topic of this cluster in which the registry keeps its schemas
    (`kafkastore.topic`, by default `_schemas`). If set for the target, the
    check `schemas` warns where the flow does not copy the source's registry
    topic to it."""


JAVA_OWNED = {
    "bootstrap.servers": "it is taken from kafka",
    "isolation.level": "the audit reads as the mirror does",
    "auto.offset.reset": "the audit reads from explicit offsets",
    "group.id": "Spark has one for each query",
    "group.instance.id": "Spark has one for each query",
    "group.protocol": "Spark has one for each query",
    "enable.auto.commit": "the audit commits no offsets",
    "key.deserializer": "the audit compares bytes",
    "value.deserializer": "the audit compares bytes",
    "interceptor.classes": "an interceptor could change records",
    "allow.auto.create.topics": "the audit must not create topics",
}
"""Properties of Java's consumer that change what is read, and why not."""


class JavaProperties(Properties):
    """Properties of Kafka's Java client by its own names."""

    kind = "Java client properties"
    owned = JAVA_OWNED


class ClusterConfig(Model):
    """Kafka cluster."""

    kafka: KafkaProperties = Field(title="Kafka properties")
    """librdkafka properties of all clients of this cluster.
    `bootstrap.servers` is required. [Some
    properties](#kafka-properties-that-the-agent-owns), such as `group.id`,
    cannot be set."""

    java: JavaProperties | None = Field(None, title="Java client properties")
    """Properties of Kafka's Java consumer, by which the audit reads this
    cluster, over those of `audit.consumer`. PEM files, `PLAIN` and `SCRAM` are
    taken from `kafka`; for any other login or store set all `ssl.*` and
    `sasl.*` properties here, as the mirror has them. `client.id` is
    `mirrorwatch-audit` unless it is set here. Those that change what is read
    cannot be set: servers, group, isolation level, offsets, deserializers and
    interceptors."""

    cluster_id: str | None = Field(None, title="Cluster id", min_length=1)
    """Expected id of the cluster. Default: the id that is seen first, from
    then on. If a cluster was replaced on purpose, set this to the new id; what
    was known of the old cluster's topics is then discarded."""

    schema_registry: SchemaRegistryConfig | None = Field(
        None, title="Schema registry"
    )
    """Schema registry of this cluster. `canary.format: avro` requires it for
    the source. If source and target of a flow have one, the check `schemas`
    verifies that the schemas of the records can be resolved at the target."""
