"""Records by Spark's own Kafka source."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditSpan,
    CopyProfile,
    PartitionPair,
    Side,
    SourceRange,
)
from mirrorwatch.exceptions import ConfigError, SourceError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.offsets import read_first_since

from .digest import to_time
from .records import (
    RECORDS,
    PairName,
    Times,
    after_first,
    as_compared,
    renamed,
    small_table,
    spanned,
    without,
)
from .records import name as pair_name

__all__ = ["KafkaReader", "to_spark_options"]


TUNING = {
    # 500 by default: the source asks for records one by one, and this is how
    # many it has at hand between two polls.
    "max.poll.records": "10000",
    "fetch.min.bytes": "262144",
    "fetch.max.wait.ms": "100",
    # Of larger ones more lies in memory, and nothing is faster. A record that
    # is larger still comes, alone.
    "max.partition.fetch.bytes": "2097152",
    "fetch.max.bytes": "16777216",
    "receive.buffer.bytes": "4194304",
    # A topic that was deleted meanwhile must not come back by asking for it.
    "allow.auto.create.topics": "false",
}
"""Properties of each consumer, for ranges that are read once, at speed."""

_LOGINS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}

_AS_THEY_ARE = (
    "client.id",
    "client.rack",
    "ssl.keystore.password",
    "ssl.key.password",
)

_TRANSLATED = {
    *("bootstrap.servers", "metadata.broker.list", "security.protocol"),
    *("sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"),
    *("ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location"),
    *("ssl.certificate.pem", "ssl.key.location", "ssl.key.pem"),
    *("ssl.keystore.location", "ssl.endpoint.identification.algorithm"),
    *("enable.ssl.certificate.verification", *_AS_THEY_ARE),
}

_HARMLESS = {
    # What OpenSSL calls them Java does not know; both sides agree on one.
    *("ssl.cipher.suites", "ssl.curves.list", "ssl.sigalgs.list"),
    *("sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin"),
}

_OLD_KEYS = ("BEGIN RSA PRIVATE KEY", "BEGIN EC PRIVATE KEY")


def to_spark_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's Kafka source for one cluster.

    Parameters
    ----------
    properties
        librdkafka's properties. Those that only tune librdkafka are left
        out.

    Returns
    -------
    dict
        Options, secrets among them. Certificates and keys are given as they
        are, not as paths: executors have no files of the driver's.

    Raises
    ------
    ConfigError
        Raised for a property of security that Java's client cannot follow.
    """
    options = dict(TUNING) | dict(_translate(properties))
    return {f"kafka.{name}": value for name, value in options.items()}


def _translate(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in given:
        if name.startswith(("ssl.", "sasl.", "security.", "https.")) and (
            name not in _TRANSLATED | _HARMLESS
        ):
            raise ConfigError(
                f"kafka.{name}: the audit reads Kafka by Java's client, for "
                "which mirrorwatch cannot translate this property"
            )
    servers = given.get("bootstrap.servers") or given["metadata.broker.list"]
    yield "bootstrap.servers", servers
    yield from ((name, given[name]) for name in _AS_THEY_ARE if name in given)
    protocol = given.get("security.protocol", "plaintext").upper()
    yield "security.protocol", protocol
    if protocol.startswith("SASL"):
        yield from _login(given)
    if protocol.endswith("SSL"):
        yield from _trust(given)
        yield from _identity(given)


def _login(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    name = "sasl.mechanism" if "sasl.mechanism" in given else "sasl.mechanisms"
    mechanism = given.get(name, "GSSAPI").upper()
    if mechanism not in _LOGINS:
        raise ConfigError(
            f"kafka.{name}: the audit knows {', '.join(_LOGINS)}, not "
            f"{mechanism}"
        )
    missing = [n for n in ("username", "password") if f"sasl.{n}" not in given]
    if missing:
        raise ConfigError(f"kafka.sasl.{missing[0]}: is missing")
    user, password = (
        _quote(given[f"sasl.{n}"]) for n in ("username", "password")
    )
    login = f"username={user} password={password};"
    yield "sasl.mechanism", mechanism
    yield "sasl.jaas.config", f"{_LOGINS[mechanism]} required {login}"


def _quote(value: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        value = value.replace(plain, escaped)
    return f'"{value}"'


def _trust(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    name = "enable.ssl.certificate.verification"
    if given.get(name, "true").lower() not in ("true", "1", "yes"):
        raise ConfigError(
            f"kafka.{name}: Java's client, by which the audit reads, always "
            "verifies certificates; give the authority in ssl.ca.location"
        )
    certificates = _pem(given, "ssl.ca")
    if certificates:
        yield "ssl.truststore.type", "PEM"
        yield "ssl.truststore.certificates", certificates
    algorithm = given.get("ssl.endpoint.identification.algorithm", "https")
    yield (
        "ssl.endpoint.identification.algorithm",
        "" if algorithm == "none" else algorithm,
    )


def _identity(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if "ssl.keystore.location" in given:
        yield "ssl.keystore.type", "PKCS12"
        yield "ssl.keystore.location", given["ssl.keystore.location"]
    chain, key = _pem(given, "ssl.certificate"), _pem(given, "ssl.key")
    if not (chain and key):
        return
    if any(kind in key for kind in _OLD_KEYS):
        raise ConfigError(
            "kafka.ssl.key.location: Java's client, by which the audit reads, "
            "wants the key as PKCS#8; `openssl pkcs8 -topk8` rewrites it"
        )
    yield "ssl.keystore.type", "PEM"
    yield "ssl.keystore.certificate.chain", chain
    yield "ssl.keystore.key", key


def _pem(given: Mapping[str, str], name: str) -> str | None:
    if f"{name}.pem" in given:
        return given[f"{name}.pem"]
    path = given.get(f"{name}.location")
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or "is not a PEM file"
        raise ConfigError(
            f"kafka.{name}.location: cannot read {path}: {reason}"
        ) from e


_TASK_RECORDS = 1_000_000
"""Most records of one task: a second or three of work, so that one huge
partition is read by all cores."""


_APPENDED = 1
"""Spark's number for `LogAppendTime`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """Offsets of one partition, and the pair that they are part of."""

    cluster: str
    read_committed: bool
    flow: str
    origin: str
    topic: str
    partition: int
    target_topic: str
    span: AuditSpan
    pair: PairName
    copies: CopyProfile
    number: int = 0
    """Spark reads one range of a partition at once: the ranges between
    skipped offsets, counted from 0."""


_Log = tuple[str, str, int]
"""Cluster, topic and partition."""


class KafkaReader:
    """Reads the records of pairs from their clusters.

    Parameters
    ----------
    session
        Spark.
    clusters
        librdkafka's properties of each cluster, by alias.

    Raises
    ------
    ConfigError
        Raised if Java's client cannot follow the properties of a cluster.

    Notes
    -----
    Records that have expired meanwhile are left out without an error: the
    retention is looked at again after the audit, and what was lost by it is
    called unverifiable there.
    """

    def __init__(
        self,
        session: SparkSession,
        clusters: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._session = session
        self._clusters = clusters
        self._options = {
            alias: to_spark_options(properties)
            for alias, properties in clusters.items()
        }

    def __call__(
        self, pairs: Sequence[PartitionPair], side: Side
    ) -> DataFrame:
        group = attrgetter(
            *("cluster", "read_committed", "flow", "origin", "number"),
            "copies",
        )
        wanted = sorted(
            (s for s in _stretches(pairs, side) if len(s.span)), key=group
        )
        empty = small_table(self._session, [], RECORDS)
        parts = [self._read(list(s)) for _, s in groupby(wanted, group)]
        return reduce(DataFrame.unionByName, parts) if parts else empty

    def since(
        self, pairs: Sequence[PartitionPair], side: Side, times: Times
    ) -> list[PartitionPair]:
        asked = {
            (s.cluster, s.topic, s.partition): times[key]
            for s in _stretches(pairs, side)
            if len(s.span) and (key := s.pair) in times
        }
        firsts: dict[_Log, int | None] = {}
        for alias in {cluster for cluster, _, _ in asked}:
            wanted = {
                (topic, partition): to_time(milliseconds)
                for (cluster, topic, partition), milliseconds in asked.items()
                if cluster == alias
            }
            # Where it cannot be asked all is read, and reading says why.
            with suppress(SourceError):
                found = read_first_since(
                    Cluster(alias, self._clusters[alias]), wanted
                )
                firsts |= {(alias, *p): at.offset for p, at in found.items()}

        def later(x: PartitionPair | SourceRange) -> AuditSpan:
            topic = x.topic if isinstance(x, SourceRange) else x.target_topic
            first = firsts.get((x.cluster, topic, x.partition), x.span.start)
            return x.span if not len(x.span) else after_first(x.span, first)

        return [spanned(pair, later) for pair in pairs]

    def _read(self, stretches: Sequence[_Stretch]) -> DataFrame:
        first = stretches[0]
        level = "committed" if first.read_committed else "uncommitted"
        ends = {
            option: json.dumps(_by_topic(stretches, which))
            for option, which in (
                ("startingOffsets", "start"),
                ("endingOffsets", "end"),
            )
        }
        partitions = {
            topic: [int(p) for p in offsets]
            for topic, offsets in _by_topic(stretches, "start").items()
        }
        found = (
            self._session.read.format("kafka")
            .options(**self._options[first.cluster], **ends)
            .option("assign", json.dumps(partitions))
            .option("kafka.isolation.level", f"read_{level}")
            .option("includeHeaders", "true")
            .option("failOnDataLoss", "false")
            .option("maxRecordsPerPartition", str(_TASK_RECORDS))
            .load()
        )
        named = self._name_targets(found, stretches)
        records = named.select(
            sf.lit(first.flow).alias("flow"),
            "target_topic",
            "partition",
            sf.lit(first.origin).alias("origin"),
            "topic",
            "offset",
            sf.unix_millis("timestamp").alias("timestamp"),
            "key",
            "value",
            "headers",
            (sf.col("timestampType") == _APPENDED).alias("appended"),
        )
        return as_compared(records, first.copies)

    def _name_targets(
        self, found: DataFrame, stretches: Sequence[_Stretch]
    ) -> DataFrame:
        names = {s.topic: s.target_topic for s in stretches}
        target = renamed(names)
        if target is not None:
            return found.withColumn("target_topic", target)
        table = small_table(
            self._session, names.items(), "topic string, target_topic string"
        )
        return found.join(sf.broadcast(table), "topic")


def _stretches(
    pairs: Sequence[PartitionPair], side: Side
) -> Iterator[_Stretch]:
    for pair in pairs:
        for log in [pair] if side == "target" else pair.sources:
            at_source = isinstance(log, SourceRange)
            for number, span in enumerate(without(log.span, log.skipped)):
                yield _Stretch(
                    cluster=log.cluster,
                    read_committed=bool(log.read_committed)
                    if isinstance(log, SourceRange)
                    else True,
                    flow=pair.flow,
                    origin=log.flow,
                    topic=log.topic if at_source else pair.target_topic,
                    partition=log.partition,
                    target_topic=pair.target_topic,
                    span=span,
                    pair=pair_name(pair),
                    copies=pair.copies,
                    number=number,
                )


def _by_topic(
    stretches: Sequence[_Stretch], which: str
) -> dict[str, dict[str, int]]:
    offsets: dict[str, dict[str, int]] = {}
    for s in stretches:
        partitions = offsets.setdefault(s.topic, {})
        partitions[str(s.partition)] = getattr(s.span, which)
    return offsets
