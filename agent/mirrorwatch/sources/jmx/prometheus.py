"""MBeans over HTTP, by the Prometheus JMX exporter."""

import re
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache

import httpx
from prometheus_client.parser import text_string_to_metric_families

from ...domain.mbeans import MBean, Wanted, unquote
from .http import explain, open_reader
from .reader import JmxAddress

__all__ = ["PrometheusReader", "parse"]

_ENDINGS = re.compile(r"_(total|info|created|bucket)$")
"""Endings that the exporter takes from names, as they mean something else to
Prometheus."""

_STATUS = "kafka_connect_connector_status"
"""Strimzi's way to export a word: as a label of a figure that is 1."""

_JMX_KEYS = {"clientid": "client-id", "client_id": "client-id"}
"""Labels that are called otherwise than the property that they stand for."""


class PrometheusReader:
    """Reads MBeans from a Prometheus JMX exporter.

    Parameters
    ----------
    address
        Where it is, as ``http://host:9404/metrics``.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.

    Notes
    -----
    Both the exporter's own names and those of Strimzi's rules are turned
    back into what they were made of. What the rules do not export (as
    Strimzi's no rate and no highest value of a client) is absent, which
    does not mean zero.
    """

    def __init__(self, address: JmxAddress) -> None:
        self._address = address
        self._http = open_reader(address)

    def read(self, wanted: Sequence[Wanted]) -> Sequence[MBean]:
        try:
            # The old format: only there all names are as the rules say.
            answer = self._http.get(
                self._address.url,
                headers={"Accept": "text/plain;version=0.0.4"},
            )
            answer.raise_for_status()
        except httpx.HTTPError as e:
            raise explain(self._address, e) from e
        try:
            return parse(answer.text, wanted)
        except ValueError as e:
            raise self._address.unavailable(
                "that is no Prometheus exporter: mirror.jmx.urls wants the "
                "address that Prometheus scrapes, as http://host:9404/metrics"
            ) from e

    def close(self) -> None:
        self._http.close()


def parse(text: str, wanted: Sequence[Wanted]) -> list[MBean]:
    """Read an exposition.

    Raises
    ------
    ValueError
        Raised if it is none.
    """
    if "# TYPE " not in text:
        raise ValueError("no types")
    names = _names(wanted)
    wants: dict[tuple[str, str], list[Wanted]] = {}
    for want in wanted:
        wants.setdefault((want.domain, want.type), []).append(want)
    known = {key for want in wanted for key in want.keys}
    found: dict[_Name, tuple[Wanted, dict[str, object]]] = {}
    # An exporter tells far more than is wanted; only that is parsed.
    for family in text_string_to_metric_families(_relevant(text, names)):
        for sample in family.samples:
            properties = _properties(sample.labels, known)
            pairs = tuple(sorted(properties.items()))
            for domain, kind, attribute in names[_plain(sample.name)]:
                name = (domain, kind, pairs)
                if name not in found:
                    covering = [
                        want
                        for want in wants[domain, kind]
                        if want.covers(properties)
                    ]
                    if not covering:
                        continue
                    found[name] = (covering[0], {})
                want, said = found[name]
                word = attribute in want.texts
                said[attribute] = (
                    sample.labels.get("status") if word else sample.value
                )
    return [
        MBean(
            domain=domain,
            properties={"type": kind, **dict(pairs)},
            attributes=want.take(said),
        )
        for (domain, kind, pairs), (want, said) in found.items()
    ]


_Name = tuple[str, str, tuple[tuple[str, str], ...]]
"""Domain, type, and the other properties in order."""

_Names = Mapping[str, Sequence[tuple[str, str, str]]]
"""What each name stands for: domain, type and attribute."""


def _names(wanted: Sequence[Wanted]) -> _Names:
    names: dict[str, list[tuple[str, str, str]]] = {}
    for want in wanted:
        # The exporter's own names say all; Strimzi's leave out what repeats.
        short = want.type.removesuffix("-metrics")
        beginnings = {
            f"{want.domain}_{want.type}",
            f"kafka_{short}",
            f"{want.domain}_{short.removeprefix('connect-')}",
        }
        for attribute in want.attributes:
            meant = (want.domain, want.type, attribute)
            for beginning in beginnings:
                name = _plain(f"{beginning}_{attribute}")
                meanings = names.setdefault(name, [])
                if meant not in meanings:
                    meanings.append(meant)
    names[_STATUS] = [("kafka.connect", "connector-task-metrics", "status")]
    return names


def _relevant(text: str, names: Container[str]) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            name = line.partition("{")[0].partition(" ")[0]
            if _plain(name) in names:
                lines.append(line)
    return "\n".join(lines) + "\n"


def _properties(
    labels: Mapping[str, str], known: Container[str]
) -> dict[str, str]:
    """Turn labels into properties; what a scraper added is left out."""
    properties = {}
    for label, value in labels.items():
        key = _JMX_KEYS.get(label.lower(), label.lower())
        if key in known:
            properties[key] = unquote(value)
    return properties


@lru_cache(maxsize=10_000)
def _plain(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower())
    return _ENDINGS.sub("", plain)
