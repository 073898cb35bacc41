"""MBeans over HTTP, by Jolokia or the Prometheus JMX exporter."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import httpx
from prometheus_client.parser import text_string_to_metric_families
from pydantic_core import from_json

from ...domain.bottleneck.model import MBean, MBeanQuery, parse_name, unquote
from ...exceptions import SourceUnavailableError
from ...http import HttpAddress, open_client

__all__ = [
    "JmxAddress",
    "JmxReader",
    "JolokiaReader",
    "PrometheusReader",
    "parse",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class JmxAddress:
    """Address of the JMX metrics of one process, with its login."""

    url: str
    cluster: str
    timeout: timedelta
    user: str | None = None
    """User name, where a login is required."""

    password: str | None = None
    """The secret that goes with it; never shown."""

    ca: Path | None = None
    """Certificate authority of the server, if it is not a public one."""

    def __repr__(self) -> str:
        return f"JmxAddress({self.url!r})"

    def unavailable(self, text: str) -> SourceUnavailableError:
        """Return an error that says what is wrong with this address."""
        return SourceUnavailableError(
            f"{self.url}: {text}", source="jmx", cluster=self.cluster
        )


class JmxReader(Protocol):
    """Reads the MBeans of one process."""

    def read(self, wanted: Sequence[MBeanQuery]) -> Sequence[MBean]:
        """Return those MBeans that there are, with what they say.

        Raises
        ------
        SourceUnavailableError
            Raised, with the remedy, if the process does not answer.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


_REFUSED = {
    401: "login required. Set mirror.jmx.user and mirror.jmx.password",
    403: "login rejected. Grant read permission to the user of mirror.jmx",
    404: "not found (status 404). Check the path in mirror.jmx.urls",
}


def open_reader(address: JmxAddress) -> httpx.Client:
    """Return a client for the JMX metrics of one process.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """
    return open_client(
        HttpAddress(
            url=address.url,
            username=address.user,
            password=address.password,
            ca=address.ca,
        ),
        key="mirror.jmx",
        timeout_seconds=address.timeout.total_seconds(),
        accept="*/*",
    )


def explain(
    address: JmxAddress, error: httpx.HTTPError
) -> SourceUnavailableError:
    """Say in words what went wrong; the request is not part of them."""
    if isinstance(error, httpx.HTTPStatusError):
        status = error.response.status_code
        text = _REFUSED.get(status, f"unexpected status {status}")
    elif isinstance(error, httpx.TimeoutException):
        limit = address.timeout.total_seconds()
        text = (
            f"no response within {limit:g} s. Check whether the process "
            "hangs, or a firewall blocks it"
        )
    elif isinstance(error, httpx.ConnectError):
        text = f"cannot connect ({error}). Check that the process runs"
    else:
        text = f"no usable response ({error or type(error).__name__})"
    return address.unavailable(text)


_ENDINGS = re.compile(r"_(total|info|created|bucket)$")
"""Endings that the exporter takes from names, as they mean something else to
Prometheus."""

_STATUS = "kafka_connect_connector_status"
"""Strimzi's way to export a word: as a label of a metric that is 1."""

_JMX_KEYS = {"clientid": "client-id", "client_id": "client-id"}
"""Labels that are called otherwise than the property that they stand for."""


class PrometheusReader:
    """Reads MBeans from a Prometheus JMX exporter or Strimzi's reporter.

    Parameters
    ----------
    address
        Address, as ``http://host:9404/metrics``.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.

    Notes
    -----
    The exporter's own names, those of Strimzi's rules and those of Strimzi's
    metrics reporter, which needs no JMX, are turned back into what they were
    made of. What the rules do not export (as Strimzi's no rate and no highest
    value of a client) is absent, which does not mean zero.
    """

    def __init__(self, address: JmxAddress) -> None:
        self._address = address
        self._http = open_reader(address)

    def read(self, wanted: Sequence[MBeanQuery]) -> Sequence[MBean]:
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
            return parse(answer.content.decode(errors="replace"), wanted)
        except ValueError as e:
            raise self._address.unavailable(
                "not a Prometheus exporter. Set mirror.jmx.urls to the "
                "address that Prometheus scrapes, such as "
                "http://host:9404/metrics"
            ) from e

    def close(self) -> None:
        self._http.close()


def parse(text: str, wanted: Sequence[MBeanQuery]) -> list[MBean]:
    """Read an exposition.

    Raises
    ------
    ValueError
        Raised if it is none.
    """
    if "# TYPE " not in text:
        raise ValueError("no types")
    names = _names(wanted)
    wants: dict[tuple[str, str], list[MBeanQuery]] = {}
    for want in wanted:
        wants.setdefault((want.domain, want.type), []).append(want)
    known = {key for want in wanted for key in want.keys}
    found: dict[_Name, tuple[MBeanQuery, dict[str, object]]] = {}
    # An exporter gives far more than is wanted; only that is parsed.
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
                said[attribute] = (
                    sample.labels.get(attribute.replace("-", "_"))
                    if attribute in want.texts
                    else sample.value
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
"""MBean attributes (domain, type, attribute) by the metric name."""


def _names(wanted: Sequence[MBeanQuery]) -> _Names:
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


_NOT_FOUND = 404
"""Status of a part of the answer: there is no such MBean."""

_FORBIDDEN = 403
"""Status of a part of the answer: Jolokia's policy hides it."""


class JolokiaReader:
    """Reads MBeans from a Jolokia agent.

    Parameters
    ----------
    address
        Address, as ``http://host:8778/jolokia``.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """

    def __init__(self, address: JmxAddress) -> None:
        self._address = address
        self._http = open_reader(address)

    def read(self, wanted: Sequence[MBeanQuery]) -> Sequence[MBean]:
        asked = [
            {
                "type": "read",
                "mbean": want.pattern,
                "attribute": list(want.attributes),
                # One attribute that cannot be had must not hide the others.
                "config": {"ignoreErrors": True},
            }
            for want in wanted
        ]
        try:
            answer = self._http.post(self._address.url, json=asked)
            answer.raise_for_status()
            parts = from_json(answer.content)
        except httpx.HTTPError as e:
            raise explain(self._address, e) from e
        except ValueError as e:
            raise self._strange() from e
        if not isinstance(parts, list) or len(parts) != len(wanted):
            raise self._strange()
        return [
            mbean
            for want, part in zip(wanted, parts, strict=True)
            for mbean in self._take(want, part)
        ]

    def close(self) -> None:
        self._http.close()

    def _take(self, want: MBeanQuery, part: Any) -> Iterator[MBean]:
        if not isinstance(part, dict):
            raise self._strange()
        status = part.get("status")
        if status in (_NOT_FOUND, _FORBIDDEN):
            return
        value = part.get("value")
        if status != 200 or not isinstance(value, dict):
            raise self._address.unavailable(
                f"Jolokia cannot read {want.pattern} (status {status})"
            )
        # A pattern is answered by name, a plain name by its attributes.
        found = value if want.keys else {want.pattern: value}
        for name, attributes in found.items():
            if isinstance(attributes, Mapping):
                domain, properties = parse_name(name)
                own = {k: v for k, v in properties.items() if k != "type"}
                if (domain, properties.get("type")) != (
                    want.domain,
                    want.type,
                ) or not want.covers(own):
                    continue
                yield MBean(
                    domain=domain,
                    properties=properties,
                    attributes=want.take(attributes),
                )

    def _strange(self) -> Exception:
        return self._address.unavailable(
            "not a Jolokia agent. Set mirror.jmx.urls to its address, such "
            "as http://host:8778/jolokia"
        )
