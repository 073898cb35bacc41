"""Reads Strimzi's custom resources, as ``kubectl get -o yaml`` prints them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..config.base import (
    ConfigProblem,
    Document,
    YamlPath,
    format_path,
    read_documents,
)
from ..exceptions import ConfigError
from ..sources.connect import to_kafka_version
from .model import (
    FoundCluster,
    FoundMirror,
    Place,
    SecretKey,
    Setting,
    SourceFilter,
)

__all__ = ["find_strimzi_mirrors"]

GROUP = "kafka.strimzi.io/"

VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha1")
"""Of the custom resources; Strimzi 0.49 and newer write v1."""

EXPORTERS = ("jmxPrometheusExporter", "strimziMetricsReporter")
"""Kinds of ``metricsConfig``: both answer at port 9404 of each pod."""

CONNECT_TOPICS = {
    "offsets": ("offsetStorageTopic", "offset.storage.topic"),
    "configs": ("configStorageTopic", "config.storage.topic"),
    "status": ("statusStorageTopic", "status.storage.topic"),
}
"""Keys of ``spec.target`` in v1, and settings of the worker before."""

MECHANISMS = {
    "scram-sha-512": "SCRAM-SHA-512",
    "scram-sha-256": "SCRAM-SHA-256",
    "plain": "PLAIN",
    "oauth": "OAUTHBEARER",
}

_NAMES = ("name", "namespace")

COMPANIONS = {
    "checkpointConnector": "MirrorCheckpointConnector",
    "heartbeatConnector": "MirrorHeartbeatConnector",
}
"""Connectors beside that of the source, by their key of a mirror."""

FILTERS = {
    "topics": ("topicsPattern",),
    "topics.exclude": ("topicsExcludePattern", "topicsBlacklistPattern"),
}
"""Keys of a mirror that go before its connector's own (Strimzi's
``prepareMirrorMaker2ConnectorConfig``)."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A part of a document and its place."""

    document: Document
    path: YamlPath
    value: Any
    base: YamlPath = ()
    """Path of its resource in the document."""

    def __getitem__(self, key: str | int) -> "_Node":
        value = None
        if isinstance(self.value, dict):
            value = self.value.get(key)
        elif isinstance(self.value, list) and isinstance(key, int):
            value = self.value[key]
        return _Node(self.document, (*self.path, key), value, self.base)

    @property
    def place(self) -> Place:
        lines, path = self.document.lines, self.path
        length = next(n for n in range(len(path), -1, -1) if path[:n] in lines)
        own = path[len(self.base) :]
        name = self.document.name
        return Place(name, lines[path[:length]], format_path(own))

    def problem(self, message: str) -> ConfigError:
        """Make the error that names this place."""
        return self.document.to_error([ConfigProblem(self.path, message)])

    def items(self) -> Iterator["_Node"]:
        """Yield the items of a list.

        Raises
        ------
        ConfigError
            Raised if it is something else.
        """
        if self.value is None:
            return
        if not isinstance(self.value, list):
            raise self.problem("must be a list")
        yield from (self[number] for number in range(len(self.value)))

    def block(self) -> dict[str, Any]:
        """Return a mapping, an empty one if there is none."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.problem("must be a mapping of keys to values")
        return self.value

    def text(self) -> str | None:
        """Return text, of numbers and truth too, as Strimzi writes it."""
        if isinstance(self.value, dict | list):
            raise self.problem("must be text")
        if isinstance(self.value, bool):
            return str(self.value).lower()
        return None if self.value is None else str(self.value)

    def needed(self) -> str:
        """Return text that has to be there."""
        found = self.text()
        if found is None:
            raise self.problem(
                "is missing: take the resource as kubectl get -o yaml "
                "prints it"
            )
        return found


def find_strimzi_mirrors(
    files: Sequence[tuple[str, str]], user: str
) -> Sequence[FoundMirror]:
    """Return the flows of the `KafkaMirrorMaker2` resources.

    Parameters
    ----------
    files
        Name and text of each file.
    user
        The agent's user, whose `KafkaUser` is looked for.

    Raises
    ------
    ConfigError
        Raised with file, line and remedy if a resource cannot be used.
    """
    resources = [
        resource
        for name, text in files
        for document in read_documents(text, name)
        for resource in _find_resources(document)
    ]
    kinds: dict[str, list[_Node]] = {}
    for each in resources:
        kinds.setdefault(str(each["kind"].value), []).append(each)
    mirrors = [
        mirror
        for each in kinds.get("KafkaMirrorMaker2", ())
        for mirror in _to_mirrors(
            each,
            _Others(kinds.get("Kafka", []), kinds.get("KafkaUser", [])),
            user,
        )
    ]
    if not mirrors:
        names = ", ".join(name for name, _ in files)
        found = ", ".join(sorted(kinds)) or "nothing"
        raise ConfigError(
            f"{names}: no KafkaMirrorMaker2 with a mirror in it, only "
            f"{found}: kubectl get kafkamirrormaker2,kafka,kafkauser -o yaml "
            "prints it"
        )
    return mirrors


def _find_resources(document: Document) -> Iterator[_Node]:
    if document.problems:
        raise document.to_error(document.problems)
    top = _Node(document, (), document.data)
    if not isinstance(document.data, dict):
        raise top.problem(
            "is no Kubernetes resource: kubectl get -o yaml prints them"
        )
    is_list = str(top["kind"].value or "").endswith("List")
    for each in top["items"].items() if is_list else (top,):
        node = _Node(document, each.path, each.value, each.path)
        version = str(node["apiVersion"].value or "")
        if not version.startswith(GROUP):
            continue  # a Secret may stand beside them
        if version.removeprefix(GROUP) not in VERSIONS:
            raise node["apiVersion"].problem(
                f"is a version that is not known; known are "
                f"{', '.join(VERSIONS)}"
            )
        yield node


@dataclass(frozen=True, slots=True)
class _Others:
    """The resources beside the mirror's."""

    kafkas: Sequence[_Node]
    users: Sequence[_Node]

    def describe(
        self, cluster: _Node, namespace: str | None, user: str
    ) -> FoundCluster:
        """Say what is known of one of the mirror's clusters."""
        servers = cluster["bootstrapServers"].needed()
        kafka = next((k for k in self.kafkas if _has(k, servers)), None)
        secrets = {
            "ca.crt": tuple(
                SecretKey(
                    namespace,
                    each["secretName"].needed(),
                    each["certificate"].text() or "ca.crt",
                )
                for each in cluster["tls"]["trustedCertificates"].items()
            )
        }
        hosts = [s.strip().rpartition(":")[0] for s in servers.split(",")]
        inside = [host for host in hosts if host and "." not in host]
        found = FoundCluster(
            secrets=secrets,
            remark=f"{inside[0]} is a name inside the namespace "
            f"{namespace or 'of the mirror'} only."
            if inside
            else "",
        )
        if kafka is None:
            return found
        name, home = (kafka["metadata"][k].text() for k in _NAMES)
        homes = [k["metadata"]["namespace"].text() for k in self.kafkas]
        if homes.count(home) > 1:
            # Resources of one namespace have different names.
            user = f"{user}-{name}"
        return replace(
            found,
            cluster_id=kafka["status"]["clusterId"].text(),
            kafka=name,
            namespace=home,
            user=user,
            has_user=any(_is_user(u, user, name) for u in self.users),
            # The user operator writes them into a Secret of the user's name.
            secrets=secrets
            | {
                key: (SecretKey(home, user, key),)
                for key in ("password", "user.crt", "user.key")
            },
        )


def _has(kafka: _Node, servers: str) -> bool:
    name = kafka["metadata"]["name"].text()
    listeners = kafka["status"]["listeners"].items()
    known = {each["bootstrapServers"].text() for each in listeners}
    host = servers.partition(",")[0].partition(":")[0]
    return servers in known or host.split(".")[0] == f"{name}-kafka-bootstrap"


def _is_user(node: _Node, user: str, kafka: str | None) -> bool:
    labels = node["metadata"]["labels"]
    return (
        kafka is not None
        and node["metadata"]["name"].text() == user
        and labels["strimzi.io/cluster"].text() == kafka
    )


def _to_mirrors(
    resource: _Node, others: _Others, user: str
) -> Iterator[FoundMirror]:
    spec = resource["spec"]
    namespace = resource["metadata"]["namespace"].text()
    clusters = {
        each["alias"].needed(): each for each in spec["clusters"].items()
    }
    for mirror in spec["mirrors"].items():
        if mirror["sourceConnector"].value is None:
            continue  # checkpoints or heartbeats alone copy no records
        if spec["target"].value is None:
            source = _find_cluster(mirror["sourceCluster"], clusters)
            target = _find_cluster(mirror["targetCluster"], clusters)
        else:
            source, target = mirror["source"], spec["target"]
        settings = _read_settings(mirror, source, target)
        ends = f"{source['alias'].needed()}->{target['alias'].needed()}"
        yield FoundMirror(
            place=mirror.place,
            settings=settings,
            dedicated=False,
            filter=_find_filter(mirror, settings, resource, namespace),
            name=f"{ends}.MirrorSourceConnector",
            companions=[
                f"{ends}.{kind}"
                for key, kind in COMPANIONS.items()
                if mirror[key].value is not None
            ],
            version=to_kafka_version(spec["version"].text()),
            topics=_find_topics(target),
            namespace=namespace,
            hints=_suggest(resource, namespace),
            source=others.describe(source, namespace, user),
            target=others.describe(target, namespace, user),
        )


def _find_cluster(node: _Node, clusters: Mapping[str, _Node]) -> _Node:
    alias = node.needed()
    if alias not in clusters:
        raise node.problem(
            f"names no cluster of spec.clusters; there are "
            f"{', '.join(clusters)}"
        )
    return clusters[alias]


def _find_topics(target: _Node) -> dict[str, Setting]:
    """Return Connect's own topics: named in v1, with defaults before."""
    found: dict[str, Setting] = {}
    for kind, (new, before) in CONNECT_TOPICS.items():
        found[kind] = Setting(f"mirrormaker2-cluster-{kind}", target.place)
        found |= _setting(kind, target["config"][before])
        found |= _setting(kind, target[new])
    return found


def _read_settings(
    mirror: _Node, source: _Node, target: _Node
) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for prefix, cluster in (("source", source), ("target", target)):
        found |= {
            f"{prefix}.cluster.{key}": setting
            for key, setting in _read_cluster(cluster).items()
        }
    config = mirror["sourceConnector"]["config"]
    for key in config.block():
        found |= _setting(key, config[key])
    for key, names in FILTERS.items():
        for name in reversed(names):
            found |= _setting(key, mirror[name])
    return found


def _setting(key: str, node: _Node) -> dict[str, Setting]:
    value = node.text()
    return {} if value is None else {key: Setting(value, node.place)}


def _read_cluster(cluster: _Node) -> dict[str, Setting]:
    alias, servers = cluster["alias"], cluster["bootstrapServers"]
    alias.needed()
    servers.needed()
    login = cluster["authentication"]
    kind = login["type"].text() or ""
    found = _setting("alias", alias) | _setting("bootstrap.servers", servers)
    tls = cluster["tls"]
    if tls.value is not None and any(tls["trustedCertificates"].items()):
        found["ssl.truststore.certificates"] = Setting("", tls.place)
    sasl = kind in MECHANISMS
    if kind == "tls":
        found["ssl.keystore.key"] = Setting("", login.place)
    elif kind == "custom":
        sasl = login["sasl"].text() == "true"
        for key in login["config"].block():
            found |= _setting(key, login["config"][key])
    elif sasl:
        found["sasl.mechanism"] = Setting(MECHANISMS[kind], login.place)
        found |= _setting(
            "sasl.oauthbearer.token.endpoint.url", login["tokenEndpointUri"]
        )
    elif kind:
        raise login["type"].problem(
            "is a kind of authentication that is not known; known are tls, "
            f"custom, {', '.join(MECHANISMS)}"
        )
    protocol = "SSL" if tls.value is not None else "PLAINTEXT"
    protocol = f"SASL_{protocol}" if sasl else protocol
    found["security.protocol"] = Setting(protocol, cluster.place)
    for key in cluster["config"].block():
        found |= _setting(key, cluster["config"][key])
    return found


def _find_filter(
    mirror: _Node,
    settings: Mapping[str, Setting],
    resource: _Node,
    namespace: str | None,
) -> SourceFilter:
    place, key = mirror["topicsPattern"].place, "topicsPattern"
    if mirror["topicsPattern"].value is None and "topics" in settings:
        place, key = settings["topics"].place, "topics"
    below = ("sourceConnector", "config") if key == "topics" else ()
    number = str(mirror.path[-1])
    name = resource["metadata"]["name"].text() or "NAME"
    where = f"-n {namespace} " if namespace else ""
    return SourceFilter(
        place=place,
        kind="strimzi",
        key=key,
        patch=("spec", "mirrors", number, *below, key),
        resource=f"{where}patch kafkamirrormaker2 {name}",
    )


def _suggest(resource: _Node, namespace: str | None) -> list[str]:
    name = resource["metadata"]["name"].text() or "NAME"
    host = f"{name}-mirrormaker2-api" + (f".{namespace}" if namespace else "")
    lines = [
        "Strimzi's network policy lets only its operator ask the REST API:",
        f'connect: {{url: "http://{host}:8083"}}',
    ]
    metrics = resource["spec"]["metricsConfig"]
    if metrics["type"].text() in EXPORTERS:
        pod = f"{name}-mirrormaker2-0.{name}-mirrormaker2"
        pod += f".{namespace}.svc" if namespace else ""
        url = f'"http://{pod}:9404/metrics"'
        lines += [
            "One URL for each pod:",
            f"jmx: {{format: prometheus, urls: [{url}]}}",
        ]
    return lines
