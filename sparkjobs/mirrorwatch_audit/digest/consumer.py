"""Properties of the Java consumer by which Spark reads Kafka."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from mirrorwatch.exceptions import ConfigError

__all__ = ["CLIENT_ID", "JAAS", "to_spark_options"]


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

_SECURITY = "org.apache.kafka.common.security"

_BY_PASSWORD = {
    "PLAIN": f"{_SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_SECURITY}.scram.ScramLoginModule",
}

_KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"

_TOKEN = f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule"

_TOKEN_HANDLER = (
    f"{_SECURITY}.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
)
"""Login callback class in Kafka 3.1 to 3.9, of which Spark 3.5 and 4.0 have
clients."""

JAAS = "sasl.jaas.config"
"""Java's property for all that a login needs."""

_AS_THEY_ARE = (
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
    *("enable.sasl.oauthbearer.unsecure.jwt", "sasl.oauthbearer.method"),
    *("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret"),
    *("sasl.oauthbearer.config", "sasl.oauthbearer.extensions"),
    *("sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url"),
    *("sasl.kerberos.keytab", "sasl.kerberos.principal"),
    "sasl.kerberos.service.name",
}

_HARMLESS = {
    # What OpenSSL calls them Java does not know; both sides agree on one.
    *("ssl.cipher.suites", "ssl.curves.list", "ssl.sigalgs.list"),
    *("sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin"),
}

_OLD_KEYS = ("BEGIN RSA PRIVATE KEY", "BEGIN EC PRIVATE KEY")


_NOTHING: Mapping[str, str] = MappingProxyType({})


def to_spark_options(
    properties: Mapping[str, str], consumer: Mapping[str, str] = _NOTHING
) -> dict[str, str]:
    """Return the options of Spark's Kafka source for one cluster.

    Parameters
    ----------
    properties
        librdkafka's properties. Those that only tune librdkafka are left
        out.
    consumer
        Properties of Java's consumer, over what follows from the others.

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
    options = TUNING | dict(_translate(properties, consumer)) | dict(consumer)
    return {f"kafka.{name}": value for name, value in options.items()}


def _translate(
    given: Mapping[str, str], consumer: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    # A JAAS configuration that is given needs no other login.
    logs_in = JAAS in consumer
    for name in given:
        if (
            name.startswith(("ssl.", "sasl.", "security.", "https."))
            and name not in _TRANSLATED | _HARMLESS
            and not (logs_in and name.startswith("sasl."))
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
    if protocol.startswith("SASL") and not logs_in:
        yield from _login(given)
    if protocol.endswith("SSL"):
        yield from _trust(given)
        yield from _identity(given)


def _login(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    name = "sasl.mechanism" if "sasl.mechanism" in given else "sasl.mechanisms"
    mechanism = given.get(name, "GSSAPI").upper()
    login = _LOGINS.get(mechanism)
    if login is None:
        raise ConfigError(
            f"kafka.{name}: the audit knows {', '.join(_LOGINS)}, not "
            f"{mechanism}; Java's own properties for it can be set in "
            f"audit.consumer, beginning with {JAAS}"
        )
    yield "sasl.mechanism", mechanism
    yield from login(mechanism, given)


def _jaas(module: str, **options: str | None) -> tuple[str, str]:
    words = [
        f"{name}={_quote(value)}"
        for name, value in options.items()
        if value is not None
    ]
    return JAAS, f"{' '.join([module, 'required', *words])};"


def _by_password(
    mechanism: str, given: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    missing = [n for n in ("username", "password") if f"sasl.{n}" not in given]
    if missing:
        raise ConfigError(f"kafka.sasl.{missing[0]}: is missing")
    yield _jaas(
        _BY_PASSWORD[mechanism],
        username=given["sasl.username"],
        password=given["sasl.password"],
    )


def _by_kerberos(
    _mechanism: str, given: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Log in by a keytab, which each worker has under the same path; without
    one by the tickets of the user who runs Spark.
    """
    keytab = given.get("sasl.kerberos.keytab")
    service = given.get("sasl.kerberos.service.name", "kafka")
    yield "sasl.kerberos.service.name", service
    if keytab is None:
        yield _jaas(_KERBEROS, useTicketCache="true")
        return
    yield _jaas(
        _KERBEROS,
        useKeyTab="true",
        storeKey="true",
        keyTab=keytab,
        principal=given.get("sasl.kerberos.principal", "kafkaclient"),
    )


_TOKENS = ("client.id", "client.secret", "token.endpoint.url")
"""Properties that librdkafka needs for a token, below `sasl.oauthbearer`."""


def _by_token(
    _mechanism: str, given: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    if given.get("enable.sasl.oauthbearer.unsecure.jwt", "").lower() == "true":
        yield _jaas(_TOKEN, **_unsecured(given))
        return
    own = {k: given.get(f"sasl.oauthbearer.{k}") for k in (*_TOKENS, "scope")}
    if given.get("sasl.oauthbearer.method", "").lower() != "oidc":
        raise ConfigError(
            "kafka.sasl.oauthbearer.method: the audit gets tokens by oidc; "
            f"for another way set {JAAS} and "
            "sasl.login.callback.handler.class in audit.consumer"
        )
    missing = [name for name in _TOKENS if not own[name]]
    if missing:
        raise ConfigError(f"kafka.sasl.oauthbearer.{missing[0]}: is missing")
    yield (
        "sasl.oauthbearer.token.endpoint.url",
        own["token.endpoint.url"] or "",
    )
    yield "sasl.login.callback.handler.class", _TOKEN_HANDLER
    extensions = _pairs(given.get("sasl.oauthbearer.extensions", ""), ",")
    yield _jaas(
        _TOKEN,
        clientId=own["client.id"],
        clientSecret=own["client.secret"],
        scope=own["scope"],
        **{f"extension_{key}": value for key, value in extensions.items()},
    )


def _unsecured(given: Mapping[str, str]) -> dict[str, str]:
    """Return what Java calls librdkafka's unsigned token, which is for tests.

    Raises
    ------
    ConfigError
        Raised if something is asked for that Java's has not.
    """
    name = "sasl.oauthbearer.config"
    asked = _pairs(given.get(name, ""), None)
    principal = asked.pop("principal", "")
    if not principal or asked:
        raise ConfigError(
            f"kafka.{name}: the audit knows principal alone, as in "
            "principal=audit"
        )
    return {"unsecuredLoginStringClaim_sub": principal}


def _pairs(text: str, separator: str | None) -> dict[str, str]:
    words = (word.partition("=") for word in text.split(separator) if word)
    return {key.strip(): value.strip() for key, _, value in words}


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


_Login = Callable[[str, Mapping[str, str]], Iterator[tuple[str, str]]]

_LOGINS: Mapping[str, _Login] = {
    **dict.fromkeys(_BY_PASSWORD, _by_password),
    "GSSAPI": _by_kerberos,
    "OAUTHBEARER": _by_token,
}
