"""Properties of the Java consumer by which Spark reads Kafka."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from mirrorwatch.exceptions import ConfigError

__all__ = ["CLIENT_ID", "to_spark_options"]


CLIENT_ID = "mirrorwatch-audit"
"""By which brokers know an audit, as for a quota: not that of the agent."""

TUNING = {
    # 500 by default: the source asks for records one by one, and this is how
    # many it has at hand between two polls.
    "max.poll.records": "10000",
    # A broker answers a connection's requests in order. A fetch that waits
    # for more, at the end of a log or of a small one, holds up the question
    # for the ends that the source asks next: of each partition, once or twice.
    "fetch.min.bytes": "1",
    "fetch.max.wait.ms": "10",
    # Of larger ones more lies in memory, and nothing is faster. A record that
    # is larger still comes, alone.
    "max.partition.fetch.bytes": "2097152",
    "fetch.max.bytes": "16777216",
    "receive.buffer.bytes": "4194304",
    # A topic that was deleted meanwhile must not come back by asking for it.
    "allow.auto.create.topics": "false",
    "client.id": CLIENT_ID,
    # Nobody reads what each of thousands of consumers says of itself.
    "enable.metrics.push": "false",
    "auto.include.jmx.reporter": "false",
}
"""Properties of each consumer, for ranges that are read once, at speed."""

_MODULES = "org.apache.kafka.common.security"

_LOGINS = {
    "PLAIN": f"{_MODULES}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_MODULES}.scram.ScramLoginModule",
}
"""Java's login module of each mechanism that is translated."""

_PEM = {
    "ssl.ca": "ssl.truststore.certificates",
    "ssl.certificate": "ssl.keystore.certificate.chain",
    "ssl.key": "ssl.keystore.key",
}
"""Java's property of each PEM text, by the begin of librdkafka's."""

_TRANSLATED = {
    *("sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"),
    *("ssl.endpoint.identification.algorithm", "ssl.key.password"),
    *(f"{name}.{form}" for name in _PEM for form in ("location", "pem")),
}

_SECURITY = ("ssl.", "sasl.")

_NOTHING: Mapping[str, str] = MappingProxyType({})


def to_spark_options(
    properties: Mapping[str, str], java: Mapping[str, str] = _NOTHING
) -> dict[str, str]:
    """Return the options of Spark's Kafka source for one cluster.

    Parameters
    ----------
    properties
        librdkafka's properties. Those that only tune librdkafka are left
        out.
    java
        Properties of Java's client, over the others. If any of them is of
        security, all are: nothing is translated then.

    Returns
    -------
    dict
        Options, secrets among them. Certificates and keys are given as they
        are, not as paths: executors have no files of the driver's.

    Raises
    ------
    ConfigError
        Raised for a property of security that is not translated.
    """
    servers = (
        properties.get("bootstrap.servers")
        or properties["metadata.broker.list"]
    )
    protocol = properties.get("security.protocol", "plaintext").upper()
    options = TUNING | {
        "bootstrap.servers": servers,
        "security.protocol": protocol,
    }
    if "client.rack" in properties:
        options["client.rack"] = properties["client.rack"]
    if not any(name.startswith(_SECURITY) for name in java):
        options |= dict(_translate(protocol, properties))
    return {f"kafka.{name}": v for name, v in {**options, **java}.items()}


def _translate(
    protocol: str, given: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for name in given:
        if name.startswith(_SECURITY) and name not in _TRANSLATED:
            raise _untranslated(name)
    if protocol.startswith("SASL"):
        yield from _login(given)
    if protocol.endswith("SSL"):
        yield from _certificates(given)


def _untranslated(name: str) -> ConfigError:
    return ConfigError(
        f"kafka.{name}: the audit reads Kafka by Java's client and translates "
        f"PEM files and {', '.join(_LOGINS)} only: set all ssl.* and sasl.* "
        "properties of Java's in `java` of this cluster"
    )


def _login(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    name = "sasl.mechanism" if "sasl.mechanism" in given else "sasl.mechanisms"
    mechanism = given.get(name, "GSSAPI").upper()
    module = _LOGINS.get(mechanism)
    if module is None:
        raise _untranslated(name)
    words = [module, "required"]
    for key in ("username", "password"):
        if f"sasl.{key}" not in given:
            raise ConfigError(f"kafka.sasl.{key}: is missing")
        words.append(f"{key}={_quote(given[f'sasl.{key}'])}")
    yield "sasl.mechanism", mechanism
    yield "sasl.jaas.config", f"{' '.join(words)};"


def _quote(value: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        value = value.replace(plain, escaped)
    return f'"{value}"'


def _certificates(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from (("ssl.truststore.type", "PEM"), ("ssl.keystore.type", "PEM"))
    for name, java in _PEM.items():
        text = _pem(given, name)
        if text is not None:
            yield java, text
    if "ssl.key.password" in given:
        yield "ssl.key.password", given["ssl.key.password"]
    algorithm = given.get("ssl.endpoint.identification.algorithm", "https")
    yield (
        "ssl.endpoint.identification.algorithm",
        "" if algorithm == "none" else algorithm,
    )


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
