"""MBeans over HTTP, by a Jolokia agent: one request for all of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

from ...domain.mbeans import MBean, Wanted, parse_name
from .http import explain, open_reader
from .reader import JmxAddress

__all__ = ["JolokiaReader"]

_NOT_FOUND = 404
"""Status of a part of the answer: there is no such MBean."""

_FORBIDDEN = 403
"""Status of a part of the answer: Jolokia's policy hides it."""


class JolokiaReader:
    """Reads MBeans from a Jolokia agent.

    Parameters
    ----------
    address
        Where it is, as ``http://host:8778/jolokia``.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """

    def __init__(self, address: JmxAddress) -> None:
        self._address = address
        self._http = open_reader(address)

    def read(self, wanted: Sequence[Wanted]) -> Sequence[MBean]:
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
            parts = answer.json()
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

    def _take(self, want: Wanted, part: Any) -> Iterator[MBean]:
        if not isinstance(part, dict):
            raise self._strange()
        status = part.get("status")
        if status in {_NOT_FOUND, _FORBIDDEN}:
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
                yield MBean(
                    domain=domain,
                    properties=properties,
                    attributes=want.take(attributes),
                )

    def _strange(self) -> Exception:
        return self._address.unavailable(
            "that is no Jolokia agent: mirror.jmx.urls wants its address, "
            "as http://host:8778/jolokia"
        )
