"""From a mirror's settings to clusters and flows of a configuration."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath
from typing import Any

import yaml

from ..config.base import (
    REFERENCE,
    ConfigProblem,
    Document,
    YamlPath,
    format_duration,
    format_path,
)
from ..config.root import load_mapping
from ..domain.canary.check import CanaryLimits
from ..domain.mirror_records import KAFKA_4, REFRESH
from ..domain.topics import (
    MM2_EXCLUDED,
    PatternError,
    Selection,
    split_patterns,
)
from ..exceptions import ConfigError
from ..msk import MECHANISM as MSK_IAM
from ..msk import names_region
from ..secrets import may_quote
from .model import (
    CANARY,
    Draft,
    FoundCluster,
    FoundMirror,
    Place,
    SecretFile,
    Settings,
)
from .properties import escape_value

__all__ = ["draft_configuration"]

FOREIGN = re.compile(r"\$\{\w[^}]*:[^}]*\}")
"""A reference that only the mirror's worker can follow."""

LEFT_OUT = re.compile(r"(?<![^\s,])[\w%.-]*://|,\s*(?=,|$)")
"""What Java's clients ignore in ``bootstrap.servers``: a scheme, as in
``SASL_SSL://host:port``, and commas without a server."""

MECHANISMS = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}
"""What the agent's library can log in by, as its packages are built; of
`MSK_IAM` the agent makes OAUTHBEARER."""

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

USERS = {
    "scram-sha-512": "SASL",
    "tls": "SSL",
    "tls-external": "SSL",
}

EXCLUDED_BEFORE_4 = (r".*[\-\.]internal", r".*\.replica", r"__.*")
"""``topics.exclude`` of MirrorMaker 2 before Kafka 4.0 (KIP-1074)."""

SEPARATOR_SINCE = (3, 1)
"""Kafka from which a separator is in the names of internal topics, too
(KIP-690)."""

POLICY = "replication.policy."

POLICIES = {
    "DefaultReplicationPolicy": "default",
    "IdentityReplicationPolicy": "identity",
}
"""MirrorMaker 2's own, and Strimzi's of before Kafka 3.0."""

FILTER = "DefaultTopicFilter"


def draft_configuration(
    mirrors: Sequence[FoundMirror], *, user: str, secrets: str
) -> Draft:
    """Draft a configuration that watches these mirrors.

    Parameters
    ----------
    mirrors
        Flows of mirrors; there is at least one.
    user
        The agent's own user on each cluster.
    secrets
        Folder of the files that hold passwords and certificates.

    Raises
    ------
    ConfigError
        Raised if what the mirror is told cannot be watched, with its place.
    """
    draft = Draft()
    clusters = _Clusters(draft, user, secrets)
    flows = [
        _Flow(draft, mirror, index, clusters)
        for index, mirror in enumerate(mirrors)
    ]
    pairs = Counter((f.data["source"], f.data["target"]) for f in flows)
    own = max(pairs.values()) > 1 or (
        len(flows) > 1 and not all(f.prefixes for f in flows)
    )
    for flow in flows:
        flow.write(
            number=pairs[flow.data["source"], flow.data["target"]], own=own
        )
        draft.data["flows"].append(flow.data)
    _check(draft)
    return draft


def _variable(*parts: str) -> str:
    return re.sub(r"\W+", "_", "_".join(parts), flags=re.ASCII).upper()


class _Values:
    """Values of one block; those that only the worker knows are asked for."""

    def __init__(
        self, draft: Draft, settings: Settings, names: Sequence[str]
    ) -> None:
        self._draft = draft
        self._settings = settings
        self._names = names

    def take(self, key: str, path: YamlPath, what: str) -> str | None:
        """Return a value for a key of the configuration, if there is one."""
        found = self._settings.get(key)
        if found is None:
            return None
        self._draft.places[path] = found.place
        if not FOREIGN.search(found.value):
            return found.value
        name = _variable(*self._names, what)
        self._draft.variables.append(name)
        self._draft.ask(
            path,
            f"{found.place} refers to a secret or file of the worker; set "
            f"{name} in the environment to its value",
        )
        return f"${{env:{name}}}"


class _Clusters:
    """Clusters by the agent's aliases, each once."""

    def __init__(self, draft: Draft, user: str, secrets: str) -> None:
        self._draft = draft
        self._user = user
        self._folder = PurePath(secrets)
        self._known: dict[tuple[str, str], str] = {}

    def alias_of(
        self, settings: Settings, side: str, found: FoundCluster
    ) -> str:
        """Return the agent's alias of a cluster, and write it once."""
        own = {
            k.removeprefix(f"{side}.cluster."): v
            for k, v in settings.items()
            if k.startswith(f"{side}.cluster.")
        }
        servers = own.get("bootstrap.servers")
        if servers is None or not servers.value.strip():
            place = next(iter(own.values())).place if own else ""
            raise ConfigError(
                f"{place}: {side}.cluster.bootstrap.servers is missing: the "
                "mirror cannot run without it either"
            )
        alias = own["alias"].value if "alias" in own else ""
        key = (alias, servers.value)
        if key not in self._known:
            free = self._find_free(
                side if FOREIGN.search(alias) else alias or side
            )
            self._known[key] = free
            self._write(free, own, found)
        return self._known[key]

    def _find_free(self, wanted: str) -> str:
        names, number = {*self._known.values()}, 1
        name = wanted
        while name in names:
            number += 1
            name = f"{wanted}-{number}"
        return name

    def _write(self, alias: str, own: Settings, found: FoundCluster) -> None:
        block: dict[str, Any] = {"kafka": {}}
        self._draft.data["clusters"][alias] = block
        kafka, path = block["kafka"], ("clusters", alias, "kafka")
        values = _Values(self._draft, own, (alias,))
        servers = values.take(
            "bootstrap.servers", (*path, "bootstrap.servers"), "brokers"
        )
        kafka["bootstrap.servers"] = LEFT_OUT.sub("", servers or "")
        if found.remark:
            self._draft.comment((*path, "bootstrap.servers"), found.remark)
        protocol = self._find_protocol(path, own, found)
        if protocol != "PLAINTEXT":
            kafka["security.protocol"] = protocol
        if protocol.startswith("SASL_"):
            self._write_login(kafka, path, own, found, alias)
        if protocol.endswith("SSL"):
            self._write_tls(kafka, own, found, alias)
        if found.cluster_id is not None:
            block["cluster_id"] = found.cluster_id

    def _find_protocol(
        self, path: YamlPath, own: Settings, found: FoundCluster
    ) -> str:
        stated = own.get("security.protocol")
        protocol = (
            "PLAINTEXT" if stated is None else stated.value.strip().upper()
        )
        if protocol not in PROTOCOLS:
            self._draft.ask(
                (*path, "security.protocol"),
                "the mirror's is a reference of its worker, or a protocol "
                f"that is none; use one of {', '.join(PROTOCOLS)}",
            )
            protocol = "SASL_SSL"
        kind = USERS.get(found.authentication or "")
        if kind is not None and not protocol.startswith(kind):
            self._draft.ask(
                (*path, "security.protocol"),
                f"the KafkaUser {self._user} logs in by "
                f"{found.authentication}, and the mirror uses {protocol}: see "
                "that this listener takes the user, or give another port",
            )
        return protocol

    def _need(
        self, alias: str, name: str, purpose: str, found: FoundCluster
    ) -> str:
        safe = re.sub(r"[^\w.-]", "_", f"{alias}-{name}", flags=re.ASCII)
        self._draft.secrets[safe] = SecretFile(
            name=safe,
            purpose=purpose,
            command=found.secret_commands.get(name, ""),
        )
        return str(self._folder / safe)

    def _write_login(
        self,
        kafka: dict[str, Any],
        path: YamlPath,
        own: Settings,
        found: FoundCluster,
        alias: str,
    ) -> None:
        stated = own.get("sasl.mechanism")
        # Kafka's own default.
        mechanism = "GSSAPI" if stated is None else stated.value.upper()
        if mechanism == MSK_IAM:
            self._write_msk_iam(kafka, path)
            return
        if mechanism not in MECHANISMS:
            shown = "another" if FOREIGN.search(mechanism) else mechanism
            built = (
                ", or build its library with Kerberos (docs/installation.md)"
                if mechanism == "GSSAPI"
                else ""
            )
            mechanism = "SCRAM-SHA-512"
            self._draft.ask(
                (*path, "sasl.mechanism"),
                f"the mirror's mechanism is {shown}, which the agent cannot "
                f"use: give it a listener with one of "
                f"{', '.join(sorted(MECHANISMS))}{built}",
            )
        kafka["sasl.mechanism"] = mechanism
        if mechanism == "OAUTHBEARER":
            self._write_tokens(kafka, path, own, found, alias)
            return
        kafka["sasl.username"] = self._user
        self._draft.comment(
            (*path, "sasl.username"),
            "A user of its own, with the rights that mirrorwatch acls prints.",
        )
        file = self._need(
            alias, "password", f"password of {self._user} at {alias}", found
        )
        kafka["sasl.password"] = f"${{file:{file}}}"

    def _write_msk_iam(self, kafka: dict[str, Any], path: YamlPath) -> None:
        """Write the login that has no user and no password of its own."""
        key = "sasl.mechanism"
        kafka[key] = MSK_IAM
        self._draft.comment(
            (*path, key),
            "Needs the extra: pip install 'mirrorwatch[msk-iam]'. AWS "
            "credentials are those that boto3 finds, such as the role of the "
            "pod: one with the rights that mirrorwatch acls prints.",
        )
        if names_region(kafka["bootstrap.servers"]):
            return
        variable = "AWS_REGION"
        self._draft.variables.append(variable)
        self._draft.ask(
            (*path, key),
            "the region, which is in no name of bootstrap.servers; set "
            f"{variable} in the environment",
        )

    def _write_tokens(
        self,
        kafka: dict[str, Any],
        path: YamlPath,
        own: Settings,
        found: FoundCluster,
        alias: str,
    ) -> None:
        key = "sasl.oauthbearer.token.endpoint.url"
        values = _Values(self._draft, own, (alias,))
        url = values.take(key, (*path, key), "token url")
        if url is None or (
            "${" not in url and ("@" in url or "?" in url or "#" in url)
        ):
            name = _variable(alias, "token url")
            self._draft.variables.append(name)
            self._draft.ask(
                (*path, key),
                f"where tokens are given out; set {name} in the environment",
            )
            url = f"${{env:{name}}}"
        file = self._need(
            alias,
            "client-secret",
            f"secret of the client {self._user} for {alias}",
            found,
        )
        kafka |= {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": self._user,
            "sasl.oauthbearer.client.secret": f"${{file:{file}}}",
            key: url,
        }

    def _write_tls(
        self,
        kafka: dict[str, Any],
        own: Settings,
        found: FoundCluster,
        alias: str,
    ) -> None:
        if any(k.startswith("ssl.truststore.") for k in own):
            kafka["ssl.ca.location"] = self._need(
                alias,
                "ca.crt",
                f"CA of {alias}, PEM{_export(own)}",
                found,
            )
        certain = USERS.get(found.authentication or "") == "SSL"
        if certain or any(k.startswith("ssl.keystore.") for k in own):
            kafka["ssl.certificate.location"] = self._need(
                alias, "user.crt", f"certificate of {self._user}, PEM", found
            )
            kafka["ssl.key.location"] = self._need(
                alias, "user.key", "its private key, PEM", found
            )
        identification = own.get("ssl.endpoint.identification.algorithm")
        if identification is not None and not identification.value.strip():
            # An empty value turns it off in Java.
            kafka["ssl.endpoint.identification.algorithm"] = "none"


def _export(own: Settings) -> str:
    """Say how the mirror's own trust store is read, if it is a file."""
    found = own.get("ssl.truststore.location")
    if found is None or FOREIGN.search(found.value):
        return ""
    return f", in {found.place}" if found.value else ""


@dataclass(slots=True)
class _Naming:
    """How topics are named, as far as settings say it."""

    block: Any
    separator: str


class _Flow:
    """One flow, written in two steps: the canary depends on the others."""

    def __init__(
        self,
        draft: Draft,
        mirror: FoundMirror,
        index: int,
        clusters: _Clusters,
    ) -> None:
        self._draft = draft
        self._mirror = mirror
        self._path: YamlPath = ("flows", index)
        settings = mirror.settings
        self.data: dict[str, Any] = {
            side: clusters.alias_of(settings, side, found)
            for side, found in (
                ("source", mirror.source),
                ("target", mirror.target),
            )
        }
        names = (self.data["source"], self.data["target"])
        self._values = _Values(draft, settings, names)
        self._topics = _Values(draft, mirror.topics, names)
        draft.places[self._path] = mirror.place
        draft.comment(self._path, f"From {mirror.place}")
        self._aliases = {
            side: self._take(
                f"{side}.cluster.alias", ("mirror", f"{side}_alias")
            )
            or ""
            for side in ("source", "target")
        }
        self._naming = self._find_naming()
        self.selection: Selection | None = None

    @property
    def prefixes(self) -> bool:
        """Whether topics certainly get a prefix at the target."""
        prefix = self._aliases["source"] + self._naming.separator
        return self._naming.block == "default" and bool(prefix)

    def write(self, *, number: int, own: bool) -> None:
        """Write the flow.

        Parameters
        ----------
        number
            How many flows there are between these two clusters.
        own
            Whether each flow needs a canary topic of its own.
        """
        ends = (self.data["source"], self.data["target"])
        canary = CANARY
        if own:
            ending = re.sub(r"[^\w-]", "_", "-".join(ends), flags=re.ASCII)
            canary = f"{CANARY}-{ending}"
        if number > 1:
            place = self._path[1]
            canary += f"-{place}"
            name = f"{'->'.join(ends)} {place}"
            self.data = {"name": name, **self.data}
        self.data["naming"] = self._naming.block
        self.data["topics"] = self._write_topics(canary)
        mirror = self._write_mirror(number=number)
        if mirror:
            self.data["mirror"] = mirror
        if self._mirror.hints:
            self._draft.hints[(*self._path, "mirror")] = [*self._mirror.hints]
            self.data.setdefault("mirror", {})
        block = self._write_canary(canary)
        if block:
            self.data["canary"] = block
        self._find_transforms()

    def _take(self, key: str, path: YamlPath) -> str | None:
        what = str(path[-1])
        return self._values.take(key, (*self._path, *path), what)

    def _get(self, *keys: str) -> str | None:
        """Return a value that is only looked at."""
        for key in keys:
            found = self._mirror.settings.get(key)
            if found is not None:
                return found.value.strip()
        return None

    def _find_naming(self) -> _Naming:
        given = self._get(f"{POLICY}class") or "DefaultReplicationPolicy"
        separator = self._take(f"{POLICY}separator", ("mirror", "separator"))
        separator = "." if separator is None else separator
        place = self._mirror.settings.get(f"{POLICY}class")
        if place is not None:
            self._draft.places[*self._path, "naming"] = place.place
        policy = POLICIES.get(given.rpartition(".")[2])
        if policy is not None:
            return _Naming(policy, separator)
        name = _variable(
            self.data["source"], self.data["target"], "topic format"
        )
        self._draft.variables.append(name)
        self._draft.ask(
            (*self._path, "naming"),
            f"how {'another class' if FOREIGN.search(given) else given} names "
            f"topics at the target; set {name} in the environment to the "
            "format, such as summit.${topic}, or write default or identity",
        )
        return _Naming({"format": f"${{env:{name}}}"}, separator)

    def _write_topics(self, canary: str) -> dict[str, Any]:
        block: dict[str, Any] = {}
        given = self._take("topics", ("topics", "include"))
        include = split_patterns(".*" if given is None else given)
        exclude = self._find_excluded()
        path = (*self._path, "topics", "include")
        if any(REFERENCE.search(p) for p in (*include, *(exclude or ()))):
            block["include"] = given or ".*"
            self._draft.filters.append(
                f"{self._mirror.filter.place}: see that it matches {canary}, "
                "the canary topic"
            )
        else:
            block["include"] = [*include]
            self._add_canary(block["include"], exclude, canary, path)
        if exclude is not None:
            # A variable holds all of them, which only a text is split for.
            block["exclude"] = (
                ",".join(exclude)
                if any(REFERENCE.search(p) for p in exclude)
                else [*exclude]
            )
        self._check_filter_class()
        return block

    def _find_excluded(self) -> tuple[str, ...] | None:
        settings, version = self._mirror.settings, self._mirror.version
        key, old = "topics.exclude", "topics.blacklist"
        if key not in settings and old in settings:
            if version is not None and version >= KAFKA_4:
                self._draft.ask(
                    (*self._path, "topics", "include"),
                    f"whether what {old} excludes shall be copied, as Kafka "
                    f"4.0 and newer ignore it. If not, call it {key} in the "
                    f"mirror ({settings[old].place}), and write exclude here",
                )
                return None
            self._draft.comment(
                (*self._path, "topics", "exclude"),
                f"Kafka 4.0 and newer ignore {old}: call it {key}.",
            )
            key = old
        if key in settings:
            return split_patterns(self._take(key, ("topics", "exclude")) or "")
        if version is None:
            self._draft.comment(
                (*self._path, "topics", "include"),
                f"No {key} in the mirror: MirrorMaker before Kafka 4.0 has "
                "another default than the agent. If it is older, write",
                f"  exclude: {json.dumps(EXCLUDED_BEFORE_4)}",
            )
        if version is None or version >= KAFKA_4:
            return None
        self._draft.comment(
            (*self._path, "topics", "exclude"),
            f"MirrorMaker's own in Kafka {'.'.join(map(str, version))}.",
        )
        return EXCLUDED_BEFORE_4

    def _add_canary(
        self,
        include: list[str],
        exclude: tuple[str, ...] | None,
        canary: str,
        path: YamlPath,
    ) -> None:
        selection = Selection(include=tuple(include))
        without = Selection(include=exclude or MM2_EXCLUDED)
        try:
            carried = selection.matches(canary)
            if without.matches(canary):
                self._draft.ask(
                    (*self._path, "topics", "exclude"),
                    f"how the canary gets to the target, as this matches "
                    f"{canary}: exclude less in the mirror and here, or set "
                    "canary.topic to another name",
                )
        except PatternError:
            return  # named with its place, when all is checked
        self._draft.comment(path, "The mirror's filter.")
        if carried:
            return
        before = ",".join(include)
        include.append(_quote(canary))
        line, *more = self._describe_filter(f"{before},{_quote(canary)}")
        if line not in self._draft.filters:
            self._draft.filters += [line, *more]
        self._draft.comment(
            path,
            "Its last item is the canary topic, to be added there:",
            f"  {line}",
        )

    def _describe_filter(self, value: str) -> Iterator[str]:
        where = self._mirror.filter
        file, line, key = where.place
        at = f"{file}:{line}" if line else file
        if where.kind == "property":
            yield f"{at}: {where.key} = {escape_value(value)}"
        elif where.kind == "connector":
            yield f"{at}: {key}: {json.dumps(where.key)}: {json.dumps(value)}"
            yield "  and the same in its MirrorCheckpointConnector, if any"
        else:
            quoted = yaml.safe_dump(value, width=10**6).splitlines()[0]
            yield f"{at}: {key}: {quoted}"
            patch = {
                "op": "replace",
                "path": "/" + "/".join(where.patch),
                "value": value,
            }
            options = f"--type json -p {shlex.quote(json.dumps([patch]))}"
            yield f"  kubectl {where.resource} {options}"

    def _check_filter_class(self) -> None:
        given = self._get("topic.filter.class")
        if given is not None and given.rpartition(".")[2] != FILTER:
            self._draft.ask(
                (*self._path, "topics"),
                f"what {_short(given)} lets through: it is a class of its "
                "own. Write include and exclude so that they say the same",
            )

    def _write_mirror(self, *, number: int) -> dict[str, Any]:
        mirror = self._mirror
        block: dict[str, Any] = {}
        if not mirror.dedicated:
            block["mode"] = "connect"
        for side, alias in self._aliases.items():
            if alias != self.data[side]:
                block[f"{side}_alias"] = alias
        if self._naming.separator != ".":
            block["separator"] = self._naming.separator
        if number > 1 and mirror.name:
            # Only what is named is checked.
            block["connectors"] = [mirror.name, *mirror.companions]
        topics = self._find_topics()
        if topics:
            block["topics"] = topics
        location = self._take(
            "offset-syncs.topic.location", ("mirror", "syncs_location")
        )
        if location is not None and location.strip() != "source":
            block["syncs_location"] = location.strip()
        if mirror.connect is not None:
            block["connect"] = self._describe_connect()
        if (self._get("emit.offset-syncs.enabled") or "").lower() == "false":
            self._draft.ask(
                (*self._path, "mirror"),
                "what was skipped and where groups start at the target: the "
                "mirror has emit.offset-syncs.enabled=false",
            )
        return block

    def _find_topics(self) -> dict[str, str | None]:
        path = (*self._path, "mirror", "topics")
        topics = {
            kind: self._topics.take(kind, (*path, kind), f"{kind} topic")
            for kind in self._mirror.topics
        } | self._name_internal()
        if self._mirror.connect is None:
            return topics
        for kind in ("offsets", "configs"):
            # One worker, so one value for all flows.
            name = _variable("connect", kind, "topic")
            self._draft.variables.append(name)
            self._draft.ask(
                (*path, kind),
                f"the worker's {kind.removesuffix('s')}.storage.topic, which "
                f"the REST API does not report; set {name} in the environment "
                "to it, or write it here",
            )
            topics[kind] = f"${{env:{name}}}"
        return topics

    def _describe_connect(self) -> dict[str, str]:
        mirror = self._mirror
        block = {"url": mirror.connect or ""}
        if mirror.login is not None:
            variable = "CONNECT_PASSWORD"
            self._draft.variables.append(variable)
            block |= {
                "username": mirror.login,
                "password": f"${{env:{variable}}}",
            }
        if mirror.ca is not None:
            block["ca"] = mirror.ca
        return block

    def _name_internal(self) -> dict[str, str]:
        version = self._mirror.version
        off = self._get(f"{POLICY}internal.topic.separator.enabled")
        dotted = (off or "true").lower() == "false" or (
            version is not None and version < SEPARATOR_SINCE
        )
        if not dotted or self._naming.separator == ".":
            return {}
        location = self._get("offset-syncs.topic.location") or ""
        if FOREIGN.search(location):
            self._draft.ask(
                (*self._path, "mirror", "topics", "syncs"),
                "its name, which depends on the location; at the target it "
                f"is mm2-offset-syncs.{self._aliases['source']}.internal",
            )
        alias = self._aliases["source" if location == "target" else "target"]
        return {
            "syncs": f"mm2-offset-syncs.{alias}.internal",
            "checkpoints": f"{self._aliases['source']}.checkpoints.internal",
        }

    def _write_canary(self, canary: str) -> dict[str, Any]:
        block: dict[str, Any] = {}
        if canary != CANARY:
            block["topic"] = canary
        refresh = self._get("refresh.topics.interval.seconds")
        if refresh and refresh.isdecimal() and int(refresh) > REFRESH.seconds:
            seconds = min(int(refresh), 6 * 86400)
            block["warmup"] = format_duration(
                timedelta(seconds=seconds) + CanaryLimits().deadline
            )
            self._draft.comment(
                (*self._path, "canary", "warmup"),
                f"The mirror looks for topics every {refresh} s.",
            )
        return block

    def _find_transforms(self) -> None:
        if self._get("transforms"):
            self._draft.ask(
                (*self._path, "topics"),
                "what the connector's transforms do: list topics of which "
                "they drop records under filtered, and say with naming.format "
                "how they rename",
            )


def _short(given: str) -> str:
    return "a reference" if FOREIGN.search(given) else given


def _quote(topic: str) -> str:
    """Return the regex of a topic, without backslashes, which some files
    need twice.
    """
    return topic.replace(".", "[.]")


class _RefusedError(ConfigError):
    """A draft is no configuration."""

    found: Sequence[ConfigProblem] = ()


class _Drafted(Document):
    """What was drafted: its problems are reported by the input's places."""

    def to_error(self, problems: Sequence[ConfigProblem]) -> ConfigError:
        error = _RefusedError("refused")
        error.found = tuple(problems)
        return error


def _find_problems(draft: Draft) -> Sequence[ConfigProblem]:
    known = _without_references(draft.data)
    try:
        load_mapping(_Drafted(name="draft", data=known))
    except _RefusedError as e:
        return e.found
    return ()


STAND_INS = {"TOPIC_FORMAT": "${topic}", "SYNCS_LOCATION": "source"}
"""What stands for variables, by the end of their names, whose value may not be
any."""


def _without_references(value: Any) -> Any:
    """Return data with something in the place of what is to be set."""
    match value:
        case dict():
            return {k: _without_references(v) for k, v in value.items()}
        case list():
            return [_without_references(v) for v in value]
        case str() if REFERENCE.search(value):
            return next(
                (v for k, v in STAND_INS.items() if value.endswith(f"{k}}}")),
                "unknown",
            )
        case _:
            return value


def _check(draft: Draft) -> None:
    """Check the draft as `check-config` does.

    Raises
    ------
    ConfigError
        Raised with the places of the mirror's own configuration.
    """
    for path in _find_unquotable(draft.data, ()):
        raise ConfigError(
            f"{_place(draft, path)}: holds a user, a password or a key, which "
            "would be shown; write it without"
        )
    problems = _find_problems(draft)
    if problems:
        lines = [f"{_place(draft, p.path)}: {p.message}" for p in problems]
        raise ConfigError("\n".join(dict.fromkeys(lines)))


ADDRESSES = {"url", "sasl.oauthbearer.token.endpoint.url"}
"""Keys of addresses, which were found to hold no password."""


def _find_unquotable(value: Any, path: YamlPath) -> Iterator[YamlPath]:
    match value:
        case dict():
            for key, part in value.items():
                if not may_quote(key):
                    yield path
                elif key not in ADDRESSES:
                    yield from _find_unquotable(part, (*path, key))
        case list():
            for number, part in enumerate(value):
                yield from _find_unquotable(part, (*path, number))
        case str() if not may_quote(value):
            yield path
        case _:
            pass


def _place(draft: Draft, path: YamlPath) -> str:
    """Return where the nearest key was read, and what it became."""
    for length in range(len(path), 0, -1):
        found: Place | None = draft.places.get(path[:length])
        if found is not None:
            return f"{found} ({format_path(path)})"
    return format_path(path)
