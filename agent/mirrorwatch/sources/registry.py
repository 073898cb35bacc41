"""Asks a schema registry, by the API that Confluent's has."""

from typing import Any
from urllib.parse import quote

import httpx

from ..exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from .http import HttpAddress, open_client, tell_failure

__all__ = ["Registry"]

PATIENCE_SECONDS = 3.0
"""A registry answers from memory; one that needs longer is in trouble, and
the agent must be able to stop meanwhile."""

UNKNOWN = {40401, 40402, 40403}
"""Error codes that say: no such subject, version, schema. Any other 404 is
not of a registry."""

SHOWN = 200
"""Characters of a registry's own words that are shown."""

_MEDIA = "application/vnd.schemaregistry.v1+json"


class Registry:
    """A schema registry.

    Parameters
    ----------
    cluster
        Our alias of the cluster whose schemas it has.
    address
        Where it is.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.

    Notes
    -----
    What it raises names the registry by the key that configures it, never by
    its address, which may be meant to stay secret.
    """

    def __init__(self, cluster: str, address: HttpAddress) -> None:
        self.cluster = cluster
        self._key = f"clusters.{cluster}.schema_registry"
        self._url = address.url
        self._http = open_client(
            address,
            key=self._key,
            timeout_seconds=PATIENCE_SECONDS,
            accept=f"{_MEDIA}, application/json",
        )

    def find(self, subject: str, schema: str) -> int | None:
        """Return the id of a schema, `None` if the subject has none such.

        Raises
        ------
        SourceError
            Raised if the registry does not answer that.
        """
        answer = self._ask("POST", f"subjects/{_quote(subject)}", schema)
        return None if answer is None else self._read_id(answer)

    def register(self, subject: str, schema: str) -> int:
        """Register a schema, and return its id; it may be registered.

        Raises
        ------
        SourceError
            Raised if the registry does not take it.
        """
        path = f"subjects/{_quote(subject)}/versions"
        return self._read_id(self._ask("POST", path, schema) or {})

    def schema(self, schema_id: int) -> str | None:
        """Return a schema by its id, `None` if there is none.

        Raises
        ------
        SourceError
            Raised if the registry does not answer that.
        """
        answer = self._ask("GET", f"schemas/ids/{schema_id}")
        if answer is None:
            return None
        schema = answer.get("schema")
        if not isinstance(schema, str):
            raise self._strange("no schema in its answer")
        return schema

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _ask(
        self, method: str, path: str, schema: str | None = None
    ) -> dict[str, Any] | None:
        """Ask; `None` if what is asked for is not there."""
        try:
            answer = self._http.request(
                method,
                f"{self._url}/{path}",
                json=None if schema is None else {"schema": schema},
                headers={} if schema is None else {"Content-Type": _MEDIA},
            )
        except httpx.TransportError as e:
            raise self._unreachable(e) from e
        except httpx.HTTPError as e:
            raise self._strange(type(e).__name__) from e
        body = _read_object(answer)
        if answer.status_code == httpx.codes.NOT_FOUND:
            if body.get("error_code") in UNKNOWN:
                return None
            raise self._strange(
                "status 404 without a schema registry's error code"
            )
        if not answer.is_success:
            raise self._refusal(answer.status_code, body)
        return body

    def _read_id(self, answer: dict[str, Any]) -> int:
        found = answer.get("id")
        if not isinstance(found, int) or not 0 <= found < 2**32:
            raise self._strange("no schema id in its answer")
        return found

    def _unreachable(self, error: httpx.TransportError) -> SourceError:
        why = tell_failure(error, PATIENCE_SECONDS)
        return SourceUnavailableError(
            f"The schema registry of {self.cluster} cannot be reached "
            f"({why}). Check that it runs, {self._key} and the network",
            source="registry",
            cluster=self.cluster,
        )

    def _refusal(self, status: int, body: dict[str, Any]) -> SourceError:
        if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            return SourceDeniedError(
                f"The schema registry of {self.cluster} rejects mirrorwatch "
                f"(status {status}). Check username and password of "
                f"{self._key}, and the permissions of that user",
                source="registry",
                cluster=self.cluster,
                right="schema registry",
            )
        said = f"status {status}"
        if message := str(body.get("message") or ""):
            said += f", {' '.join(message.split())[:SHOWN]}"
        return SourceError(
            f"The schema registry of {self.cluster} returned an error "
            f"({said}). Check its log, its mode and the compatibility of the "
            "subject",
            source="registry",
            cluster=self.cluster,
        )

    def _strange(self, why: str) -> SourceError:
        return SourceError(
            f"The address of the schema registry of {self.cluster} leads to "
            f"another server ({why}). Check the path in {self._key}.url, for "
            "example /apis/ccompat/v7 for Apicurio",
            source="registry",
            cluster=self.cluster,
        )


def _quote(subject: str) -> str:
    return quote(subject, safe="")


def _read_object(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
