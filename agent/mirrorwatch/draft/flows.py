"""Clusters and flows of a configuration, from the settings of a mirror."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePath
from typing import Any

import yaml
from javaproperties import escape

from ..config import Config
from ..config.base import (
    ConfigProblem,
    Document,
    YamlPath,
    format_duration,
    format_path,
)
from ..config.root import load_draft
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
from .model import (
    CANARY,
    Draft,
    FoundCluster,
    FoundMirror,
    Place,
    SecretFile,
    Settings,
)

__all__ = ["draft_configuration"]

FOREIGN = re.compile(r"\$\{\w[^}]*:[^}]*\}")
"""A reference that only the mirror's worker can follow."""

LEFT_OUT = re.compile(r"(?<![^\s,])[\w%.-]*://|,\s*(?=,|$)")
"""Parts of ``bootstrap.servers`` that Java's clients ignore: a scheme, as in
``SASL_SSL://host:port``, and commas without a server."""

MECHANISMS = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}
"""SASL mechanisms of the agent's library, as its packages are built; of
`MSK_IAM` the agent makes OAUTHBEARER."""

EXCLUDED_BEFORE_4 = (r".*[\-\.]internal", r".*\.replica", r"__.*")
"""``topics.exclude`` of MirrorMaker 2 before Kafka 4.0 (KIP-1074)."""

POLICY = "replication.policy."

POLICIES = {
    "DefaultReplicationPolicy": "default",
    "IdentityReplicationPolicy": "identity",
}
"""MirrorMaker 2's own, and Strimzi's of before Kafka 3.0."""

FILTER = "DefaultTopicFilter"


def draft_configuration(
    mirrors: Sequence[FoundMirror], *, user: str, secrets: str
) -> tuple[Draft, Config]:
    """Draft a configuration that watches these mirrors, and load it.

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
    draft = Draft(namespace=mirrors[0].namespace)
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
    places = draft.places
    document = _Drafted(name="draft", data=draft.data, places=places)
    return draft, load_draft(document)


def _take(
    draft: Draft, settings: Settings, key: str, path: YamlPath
) -> str | None:
    """Return the value of a setting for a key of the configuration.

    Raises
    ------
    ConfigError
        Raised if only the mirror's worker can resolve the value.
    """
    found = settings.get(key)
    if found is None:
        return None
    draft.places[path] = found.place
    if FOREIGN.search(found.value):
        raise ConfigError(
            f"{found.place}: refers to a secret or file of the mirror's "
            "worker; put the value there, in a copy of the configuration"
        )
    return found.value


class _Clusters:
    """Clusters by the agent's aliases, each once."""

    def __init__(self, draft: Draft, user: str, secrets: str) -> None:
        self._draft = draft
        self._user = user
        self.folder = PurePath(secrets)
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
            free = self._find_free(alias or side)
            self._known[key] = free
            self._draft.clusters[free] = found
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
        key = "bootstrap.servers"
        servers = _take(self._draft, own, key, (*path, key))
        kafka["bootstrap.servers"] = LEFT_OUT.sub("", servers or "")
        if found.remark:
            self._draft.comment((*path, "bootstrap.servers"), found.remark)
        key = "security.protocol"
        stated = _take(self._draft, own, key, (*path, key))
        protocol = (stated or "PLAINTEXT").strip().upper()
        if protocol != "PLAINTEXT":
            kafka["security.protocol"] = protocol
        if protocol.startswith("SASL_"):
            self._write_login(kafka, path, own, found, alias)
        if protocol.endswith("SSL"):
            self._write_tls(kafka, own, found, alias)
        if found.cluster_id is not None:
            block["cluster_id"] = found.cluster_id

    def _need(
        self, alias: str, name: str, purpose: str, found: FoundCluster
    ) -> str:
        safe = re.sub(r"[^\w.-]", "_", f"{alias}-{name}", flags=re.ASCII)
        self._draft.secrets[safe] = SecretFile(
            name=safe,
            purpose=purpose,
            keys=found.secrets.get(name, ()),
        )
        return str(self.folder / safe)

    def _write_login(
        self,
        kafka: dict[str, Any],
        path: YamlPath,
        own: Settings,
        found: FoundCluster,
        alias: str,
    ) -> None:
        key = "sasl.mechanism"
        stated = _take(self._draft, own, key, (*path, key))
        # Kafka's own default.
        mechanism = (stated or "GSSAPI").upper()
        if mechanism == MSK_IAM:
            self._write_msk_iam(kafka, path)
            return
        if mechanism not in MECHANISMS:
            self._draft.ask(
                (*path, key),
                f"the mirror's mechanism is {mechanism}, which the agent "
                "cannot use: give it a listener with one of "
                f"{', '.join(sorted(MECHANISMS))}, or see Kerberos in "
                "docs/logins.md",
            )
            mechanism = "SCRAM-SHA-512"
        kafka["sasl.mechanism"] = mechanism
        if mechanism == "OAUTHBEARER":
            self._write_tokens(kafka, path, own, found, alias)
            return
        user = found.user or self._user
        kafka["sasl.username"] = user
        self._draft.comment(
            (*path, "sasl.username"),
            "A user of its own, with the rights that mirrorwatch acls prints.",
        )
        file = self._need(
            alias, "password", f"password of {user} at {alias}", found
        )
        kafka["sasl.password"] = f"${{file:{file}}}"

    def _write_msk_iam(self, kafka: dict[str, Any], path: YamlPath) -> None:
        """Write the login that has no user and no password of its own."""
        key = "sasl.mechanism"
        kafka[key] = MSK_IAM
        self._draft.comment(
            (*path, key),
            "Needs the extra msk-iam (docs/logins.md). AWS "
            "credentials are those that boto3 finds, such as the role of the "
            "pod: one with the rights that mirrorwatch acls prints.",
        )
        if names_region(kafka["bootstrap.servers"]):
            return
        self._draft.ask(
            (*path, key),
            "the region, which is in no name of bootstrap.servers; set "
            "AWS_REGION in the environment",
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
        url = _take(self._draft, own, key, (*path, key))
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
        }
        if url is None or "@" in url:
            self._draft.ask(
                (*path, "sasl.oauthbearer.method"),
                f"the address of the token server; set it as {key}",
            )
        else:
            kafka[key] = url

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
                f"CA of {alias}, PEM",
                found,
            )
        if any(k.startswith("ssl.keystore.") for k in own):
            kafka["ssl.certificate.location"] = self._need(
                alias,
                "user.crt",
                f"certificate of {found.user or self._user}, PEM",
                found,
            )
            kafka["ssl.key.location"] = self._need(
                alias, "user.key", "its private key, PEM", found
            )
        identification = own.get("ssl.endpoint.identification.algorithm")
        if identification is not None and not identification.value.strip():
            # An empty value turns it off in Java.
            kafka["ssl.endpoint.identification.algorithm"] = "none"


@dataclass(slots=True)
class _Naming:
    """Replication policy and separator."""

    block: str
    separator: str


class _Flow:
    """Draft of one flow, written in two steps: the canary depends on the
    others.
    """

    def __init__(
        self,
        draft: Draft,
        mirror: FoundMirror,
        index: int,
        clusters: _Clusters,
    ) -> None:
        self._draft = draft
        self._mirror = mirror
        self._clusters = clusters
        self._path: YamlPath = ("flows", index)
        settings = mirror.settings
        self.data: dict[str, Any] = {
            side: clusters.alias_of(settings, side, found)
            for side, found in (
                ("source", mirror.source),
                ("target", mirror.target),
            )
        }
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

    @property
    def prefixes(self) -> bool:
        """Topics certainly get a prefix at the target."""
        prefix = self._aliases["source"] + self._naming.separator
        return self._naming.block == "default" and bool(prefix)

    def write(self, *, number: int, own: bool) -> None:
        """Write the flow.

        Parameters
        ----------
        number
            Number of the flows between these two clusters.
        own
            Each flow needs a canary topic of its own.
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
        self._ask_about_classes()

    def _take(self, key: str, path: YamlPath) -> str | None:
        settings = self._mirror.settings
        return _take(self._draft, settings, key, (*self._path, *path))

    def _get(self, key: str) -> str | None:
        found = self._mirror.settings.get(key)
        return None if found is None else found.value.strip()

    def _find_naming(self) -> _Naming:
        given = self._take(f"{POLICY}class", ("naming",))
        separator = self._take(f"{POLICY}separator", ("mirror", "separator"))
        separator = "." if separator is None else separator
        name = (given or "DefaultReplicationPolicy").rpartition(".")[2]
        if name not in POLICIES:
            self._draft.ask(
                (*self._path, "naming"),
                f"how {given} names topics at the target; if not as the "
                "default policy, write their format, such as "
                "{format: 'summit.${topic}'}",
            )
        return _Naming(POLICIES.get(name, "default"), separator)

    def _write_topics(self, canary: str) -> dict[str, Any]:
        block: dict[str, Any] = {}
        given = self._take("topics", ("topics", "include"))
        include = split_patterns(".*" if given is None else given)
        exclude = self._find_excluded()
        block["include"] = [*include]
        path = (*self._path, "topics", "include")
        self._add_canary(block["include"], exclude, canary, path)
        if exclude is not None:
            block["exclude"] = [*exclude]
        return block

    def _find_excluded(self) -> tuple[str, ...] | None:
        version = self._mirror.version
        for key in ("topics.exclude", "topics.blacklist"):
            given = self._take(key, ("topics", "exclude"))
            if given is not None:
                return split_patterns(given)
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
            yield f"{at}: {where.key} = {escape(value)}"
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
        mirror = self._mirror
        path = (*self._path, "mirror", "topics")
        topics = {
            kind: _take(self._draft, mirror.topics, kind, (*path, kind))
            for kind in mirror.topics
        }
        if mirror.connect is None:
            return topics
        for kind in ("offsets", "configs"):
            # The names in Kafka's own connect-distributed.properties.
            topics[kind] = f"connect-{kind}"
            self._draft.ask(
                (*path, kind),
                f"the worker's {kind.removesuffix('s')}.storage.topic, which "
                "the REST API does not report: correct it",
            )
        return topics

    def _describe_connect(self) -> dict[str, str]:
        mirror = self._mirror
        block = {"url": mirror.connect or ""}
        if mirror.login is not None:
            name = "connect-password"
            self._draft.secrets[name] = SecretFile(
                name=name, purpose=f"password of {mirror.login} at Connect"
            )
            file = self._clusters.folder / name
            block |= {
                "username": mirror.login,
                "password": f"${{file:{file}}}",
            }
        if mirror.ca is not None:
            block["ca"] = mirror.ca
        return block

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

    def _ask_about_classes(self) -> None:
        given = self._get("topic.filter.class")
        if given is not None and given.rpartition(".")[2] != FILTER:
            self._draft.ask(
                (*self._path, "topics"),
                f"the topics that {given} lets through: write include and "
                "exclude so that they say the same",
            )
        if self._get("transforms"):
            self._draft.ask(
                (*self._path, "topics"),
                "the effect of the connector's transforms: list topics of "
                "which they drop records under filtered, and write "
                "naming.format if they rename",
            )


def _quote(topic: str) -> str:
    """Return the regex of a topic, without backslashes, which some files
    need twice.
    """
    return topic.replace(".", "[.]")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Drafted(Document):
    """A drafted configuration, whose errors name places in the input."""

    places: Mapping[YamlPath, Place]

    def to_error(self, problems: Sequence[ConfigProblem]) -> ConfigError:
        lines = [f"{self._find_place(p.path)}: {p.message}" for p in problems]
        return ConfigError("\n".join(dict.fromkeys(lines)))

    def _find_place(self, path: YamlPath) -> str:
        for length in range(len(path), 0, -1):
            if (found := self.places.get(path[:length])) is not None:
                return f"{found} ({format_path(path)})"
        return format_path(path)
