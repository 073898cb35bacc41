"""Checks of a configuration that was read, before it is used.

librdkafka checks its own properties, without connecting; what is allowed and
yet worth a remark is noted, where somebody asks: `mirrorwatch check-config`.
"""

import re
import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from ipaddress import ip_address
from logging import NullHandler, getLogger

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ..msk import find_msk_fault, is_msk_iam
from ..secrets import HIDDEN, may_quote
from .base import ConfigProblem, Model, YamlPath, format_path
from .kafka import DEFAULT_PORT, SERVERS, KafkaProperties
from .properties import Properties
from .root import Config, FlowConfig
from .sinks import WebConfig

__all__ = ["check_clients", "find_client_faults", "find_notes"]

NAMED = re.compile(r'property:? "(?P<name>[^"]+)"')
"""librdkafka's messages about one property name it."""

MENTIONED = re.compile(r"\b(?:ssl|sasl|security|https)(?:\.[a-z]+)+\b")
"""Names in its messages about several."""

VALUE = re.compile(r'value "(?P<value>[^"]*)"')
"""Quoted value in its messages."""

NOT_USED = (*SERVERS, "debug")
"""Left out: without servers the client connects to nothing, and `debug` would
fill the screen."""

DOCUMENTED = (
    "librdkafka's CONFIGURATION.md lists all properties and their values"
)

REMEDIES = (
    ("No such configuration", f"correct or remove it: {DOCUMENTED}"),
    (
        "sasl.username and sasl.password must be set",
        "set both, or another sasl.mechanism",
    ),
    (
        " SASL mechanism",
        (
            "set sasl.mechanism to PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, "
            "OAUTHBEARER or AWS_MSK_IAM; docs/logins.md says how to get "
            "Kerberos"
        ),
    ),
    (
        "failed",
        (
            "check that it holds what its name says, and that the agent's "
            "user can read it"
        ),
    ),
    ("", f"correct it: {DOCUMENTED}"),
)
"""Remedies by a part of the message; the first that fits."""

CREDENTIALS = ("id", "secret")
"""Client credentials for a token, unless it signs a JWT or its machine is
known: ``sasl.oauthbearer.client.id``, also
``sasl.oauthbearer.client.credentials.client.id``."""


NAMES_FILE = re.compile(r"[.](?:location|keytab|file)$")
"""Kafka properties whose value is the path of a certificate, key or ticket."""


def check_clients(
    config: Config, unfollowed: Collection[YamlPath] | None = None
) -> None:
    """Check what clients will be made of: the Kafka properties of every
    cluster, and the authorities of servers that are asked by HTTP.

    Parameters
    ----------
    config
        The configuration.
    unfollowed
        References that stand for themselves: clusters that have one are left
        out, as librdkafka looks at properties together. Files that properties
        name are not there either then. `None` where all are followed.

    Raises
    ------
    ConfigError
        Raised with all that librdkafka and OpenSSL say against them.
    """
    problems = [
        replace(p, path=("clusters", alias, "kafka", *p.path))
        for alias, cluster in config.clusters.items()
        if not any(
            path[:2] == ("clusters", alias) for path in unfollowed or ()
        )
        for p in find_client_faults(
            cluster.kafka, has_files=unfollowed is None
        )
    ]
    if unfollowed is None:
        problems += _find_ca_faults(config, ())
    if problems:
        raise config.document.to_error(problems)


def _find_ca_faults(value: object, path: YamlPath) -> Iterator[ConfigProblem]:
    """Yield files of authorities that hold no certificate."""
    if isinstance(value, Model):
        ca = getattr(value, "ca", None)
        if ca is not None:
            try:
                ssl.create_default_context(cafile=ca)
            except OSError as e:
                reason = getattr(e, "reason", None) or e.strerror or "unusable"
                yield ConfigProblem(
                    (*path, "ca"),
                    "cannot be used "
                    f"({reason.lower().replace('_', ' ')}); give a PEM file "
                    "that the agent's user can read",
                )
        for name in type(value).model_fields:
            yield from _find_ca_faults(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _find_ca_faults(item, (*path, key))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _find_ca_faults(item, (*path, index))


def find_client_faults(
    properties: KafkaProperties, *, has_files: bool = True
) -> list[ConfigProblem]:
    """Return what librdkafka says against the properties.

    A client is made and let go, so files with certificates and keys are
    read too, where this machine has them. Nothing is connected to.
    """
    rest = {
        k: v
        for k, v in properties.items()
        if k not in NOT_USED and (has_files or not NAMES_FILE.search(k))
    }
    problems: list[ConfigProblem] = []
    mechanism = next(
        (rest[k] for k in ("sasl.mechanism", "sasl.mechanisms") if k in rest),
        "",
    ).upper()
    if is_msk_iam(rest):
        fault = find_msk_fault(properties)
        if fault is not None:
            problems.append(ConfigProblem(("sasl.mechanism",), fault))
        mechanism = "OAUTHBEARER"
    if mechanism == "OAUTHBEARER":
        # Such a client asks for a token, with the secret, once it is made.
        if properties.protocol.startswith("SASL_"):
            problems += _find_token_faults(rest)
        rest.pop("sasl.mechanism", None)
        rest |= {"sasl.mechanisms": "PLAIN"}
        if properties.protocol.startswith("SASL_"):
            tls = properties.protocol == "SASL_SSL"
            rest["security.protocol"] = "SSL" if tls else "PLAINTEXT"
    while True:
        message = _try(rest)
        if message is None:
            return problems
        key = _find_key(message, rest)
        remedy = next(r for part, r in REMEDIES if part in message)
        problems.append(
            ConfigProblem(
                (key,) if key else (),
                f"{_censor(message, properties)}; {remedy}",
                shows_value=False,
            )
        )
        if key is None or rest.pop(key, None) is None:
            # The rest can only be checked once this is fixed.
            return problems


def _find_token_faults(rest: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Yield what librdkafka refuses, and that it would wait for ever."""
    prefix = "sasl.oauthbearer."
    unsecured = rest.get("enable.sasl.oauthbearer.unsecure.jwt", "").lower()
    if rest.get(f"{prefix}method", "default").lower() != "oidc":
        if not is_msk_iam(rest) and unsecured not in {"true", "t", "1"}:
            yield ConfigProblem(
                (f"{prefix}method",),
                "must be oidc: without it there is no token, and no login",
            )
        return
    if rest.get(f"{prefix}metadata.authentication.type", "none") != "none":
        return  # the machine is known, such as to Azure
    needed: list[tuple[str, ...]] = [(f"{prefix}token.endpoint.url",)]
    grant = rest.get(f"{prefix}grant.type", "client_credentials")
    if grant == "client_credentials":
        needed += [
            (
                f"{prefix}client.{part}",
                f"{prefix}client.credentials.client.{part}",
            )
            for part in CREDENTIALS
        ]
    for names in needed:
        if not any(rest.get(name) for name in names):
            yield ConfigProblem(
                (names[0],), f"is missing; {prefix}method oidc needs it"
            )


def _find_key(message: str, rest: Mapping[str, str]) -> str | None:
    """Return the key that a message is about."""
    named = NAMED.search(message)
    if named is not None and named["name"] in rest:
        return named["name"]
    if named is not None:
        # librdkafka may know a property by another name (linger.ms).
        return next((k for k, v in rest.items() if _try({k: v})), None)
    mentioned = MENTIONED.search(message)
    return mentioned[0] if mentioned else None


def _try(properties: Mapping[str, str]) -> str | None:
    logger = getLogger("mirrorwatch.librdkafka")
    logger.propagate = False
    logger.addHandler(NullHandler())
    try:
        AdminClient({**properties}, logger=logger)
    except KafkaException as e:
        message: str = e.args[0].str()
        # OpenSSL's own codes help nobody.
        return message.strip().split(": error:")[0]
    except (TypeError, ValueError, UnicodeError):
        # What confluent-kafka itself does not take.
        return "Invalid value"
    return None


def _censor(message: str, properties: KafkaProperties) -> str:
    for secret in sorted(properties.secrets, key=len, reverse=True):
        if secret:
            message = message.replace(secret, HIDDEN)
    return VALUE.sub(
        lambda m: m[0] if may_quote(m["value"]) else f'value "{HIDDEN}"',
        message,
    )


def find_notes(config: Config) -> list[str]:
    """Return remarks, one sentence each."""
    notes = [
        f"{format_path(path)} is written in the file: "
        "${env:NAME} or ${file:/path} would keep it out"
        for path in _find_plain_secrets(config, ())
    ]
    for alias, cluster in config.clusters.items():
        notes += [
            f"{format_path(('clusters', alias, 'kafka', key))} {note}"
            for key, note in _note_kafka(cluster.kafka)
        ]
    notes += _note_web(config.web)
    for index, flow in enumerate(config.flows):
        notes += [f"flows[{index}].{n}" for n in _note_flow(flow)]
        ends = [config.clusters[a].kafka for a in (flow.source, flow.target)]
        if ends[0].brokers & ends[1].brokers:
            notes.append(
                f"flows[{index}].target has a bootstrap server of the source: "
                "see that they are two clusters"
            )
    return notes


def _note_web(web: WebConfig) -> Iterator[str]:
    if _is_loopback(web.host):
        return
    if not web.has_login:
        yield (
            "web.listen: other machines can reach the page, which has no login"
        )
    elif web.tls_server_config is None:
        yield (
            "web.listen: passwords and tokens cross the network unencrypted: "
            "set web.tls_server_config, or listen on loopback behind a proxy "
            "that speaks TLS"
        )


def _note_kafka(properties: KafkaProperties) -> Iterator[tuple[str, str]]:
    protocol = properties.protocol
    servers = map(str.strip, properties.servers.split(","))
    # By number: an address may be a secret.
    bare = [
        str(number)
        for number, server in enumerate(filter(None, servers), 1)
        if ":" not in server.rpartition("]")[2]
    ]
    if bare:
        yield (
            "bootstrap.servers",
            (
                f"has no port for broker {', '.join(bare)} of the list: "
                f"{DEFAULT_PORT} is used"
            ),
        )
    verification = "enable.ssl.certificate.verification"
    if properties.get(verification, "true").lower() in {"false", "0"}:
        yield (
            verification,
            (
                "is off: anyone in between can read and change everything; "
                "set ssl.ca.location instead"
            ),
        )
    identification = "ssl.endpoint.identification.algorithm"
    if properties.get(identification, "https").lower() == "none":
        yield (
            identification,
            "is off: any certificate of the CA is taken for the broker's",
        )
    if protocol.startswith("SASL_"):
        if protocol == "SASL_PLAINTEXT":
            yield (
                "security.protocol",
                (
                    "is SASL_PLAINTEXT: nothing is encrypted, with PLAIN not "
                    "even the password; use SASL_SSL"
                ),
            )
        return
    for key in ("sasl.username", "sasl.mechanism", "sasl.mechanisms"):
        if key in properties:
            yield (
                key,
                "is of no use without SASL: set security.protocol to SASL_SSL",
            )
            break


def _note_flow(flow: FlowConfig) -> Iterator[str]:
    canary = flow.canary
    if canary.enabled and not flow.selection.matches(canary.topic):
        yield (
            "canary.topic is none of the flow's topics: see that the "
            "mirror's own filter carries it"
        )
    if not canary.enabled:
        yield "canary is off: nothing proves that records arrive"


def _find_plain_secrets(value: object, path: YamlPath) -> Iterator[YamlPath]:
    """Yield the paths of secrets that stand in the file itself."""
    if isinstance(value, Properties):
        yield from ((*path, key) for key in value.plain_secrets)
    elif isinstance(value, Model):
        for name in value.plain_secrets:
            yield (*path, name)
        for name in type(value).model_fields:
            yield from _find_plain_secrets(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _find_plain_secrets(item, (*path, key))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _find_plain_secrets(item, (*path, index))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
