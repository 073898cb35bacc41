"""Schema registries: their API, and the schema of probes there."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
from pydantic_core import from_json

from ..domain.canary import texts
from ..domain.finding import Finding, Health
from ..domain.schemas.model import IdKind, SchemaId
from ..exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from ..http import HttpAddress, describe_failure, open_client
from ..threads import Latest
from .canary.encoding import SCHEMA, Avro, is_same_schema

__all__ = ["RegisteredSchema", "Registry", "SchemaWorker"]

PATIENCE_SECONDS = 3.0
"""A registry answers from memory; one that needs longer is in trouble, and
the agent must be able to stop meanwhile."""

UNKNOWN = (40401, 40402, 40403)
"""Error codes that say: no such subject, version, schema. Any other 404 is
not of a registry. No set: a code may be a list, which none takes."""

SHOWN = 200
"""Characters of a registry's own words that are shown."""

MODELESS = (
    httpx.codes.FORBIDDEN,
    httpx.codes.NOT_FOUND,
    httpx.codes.METHOD_NOT_ALLOWED,
)
"""Answers of a registry that has no mode, or keeps it to itself."""

_CCOMPAT = re.compile("/apis/ccompat/v[0-9]+/?$")
"""End of the address of Apicurio's Confluent-compatible API."""

_MEDIA = "application/vnd.schemaregistry.v1+json"


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as a registry holds it."""

    text: str
    kind: str | None = "AVRO"
    """``AVRO``, ``JSON`` or ``PROTOBUF``; `None` if the registry does not
    say."""

    references: tuple[str, ...] = ()


class Registry:
    """A schema registry, by the API that Confluent's has.

    Parameters
    ----------
    cluster
        Our alias of the cluster whose schemas it has.
    address
        Address of the registry.

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
        found = self.look_up(SchemaId(IdKind.ID, str(schema_id)))
        return None if found is None else found.text

    def look_up(self, schema: SchemaId) -> RegisteredSchema | None:
        """Return a schema by what records name it by, `None` if there is none.

        Raises
        ------
        SourceError
            Raised if the registry does not answer that.

        Notes
        -----
        The ids of Apicurio's own format are known to its own API only: its
        Confluent-compatible one takes every number for a content id. Apicurio
        3 has version 2 of that API, too.
        """
        core = _CCOMPAT.sub("", self._url)
        if schema.kind is IdKind.GUID:
            path = f"schemas/guids/{schema.value}"
        elif schema.kind is IdKind.ID or core == self._url:
            path = f"schemas/ids/{schema.value}"
        else:
            path = f"ids/{schema.kind}s/{schema.value}"
            return self._look_up_content(f"{core}/apis/registry/v2/{path}")
        answer = self._ask("GET", path)
        return None if answer is None else self._read_schema(answer)

    def subjects(self) -> frozenset[str]:
        """Return the names of all subjects; Apicurio lists the first 1,000.

        Raises
        ------
        SourceError
            Raised if the registry does not answer that.
        """
        answer = self._send("GET", f"{self._url}/subjects")
        if not answer.is_success:
            raise self._refusal(answer.status_code, _read_object(answer))
        found = _read(answer)
        if not isinstance(found, list):
            raise self._strange("no list of subjects in its answer")
        return frozenset(name for name in found if isinstance(name, str))

    def has_subject(self, subject: str) -> bool:
        """Return whether a subject has any version.

        Raises
        ------
        SourceError
            Raised if the registry does not answer that.
        """
        path = f"subjects/{_quote(subject)}/versions/latest"
        return self._ask("GET", path) is not None

    def mode(self, subject: str | None = None) -> str | None:
        """Return its mode, for example ``READWRITE``; `None` if it has none
        (Apicurio).

        Parameters
        ----------
        subject
            Whose mode to return instead; `None` is returned for one that has
            no mode of its own, but the registry's.

        Raises
        ------
        SourceError
            Raised if the registry does not answer.
        """
        path = "mode" if subject is None else f"mode/{_quote(subject)}"
        answer = self._send("GET", f"{self._url}/{path}")
        body = _read_object(answer)
        if not answer.is_success and answer.status_code not in MODELESS:
            raise self._refusal(answer.status_code, body)
        found = body.get("mode")
        return found[:SHOWN] if isinstance(found, str) else None

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _ask(
        self, method: str, path: str, schema: str | None = None
    ) -> dict[str, Any] | None:
        """Ask; `None` if what is asked for is not there."""
        answer = self._send(method, f"{self._url}/{path}", schema)
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

    def _send(
        self, method: str, url: str, schema: str | None = None
    ) -> httpx.Response:
        try:
            return self._http.request(
                method,
                url,
                json=None if schema is None else {"schema": schema},
                headers={} if schema is None else {"Content-Type": _MEDIA},
            )
        except httpx.TransportError as e:
            raise self._unreachable(e) from e
        except httpx.HTTPError as e:
            raise self._strange(type(e).__name__) from e

    def _look_up_content(self, url: str) -> RegisteredSchema | None:
        answer = self._send("GET", url)
        if answer.is_success:
            kind = answer.headers.get("X-Registry-ArtifactType")
            return RegisteredSchema(answer.text, kind)
        body = _read_object(answer)
        if answer.status_code == httpx.codes.NOT_FOUND:
            # Without a word in front, the address is what it does not know.
            name = str(body.get("name") or "")
            if name.removesuffix("NotFoundException") not in {name, ""}:
                return None
            raise self._strange(
                "status 404 without a schema registry's error code"
            )
        raise self._refusal(answer.status_code, body)

    def _read_schema(self, answer: dict[str, Any]) -> RegisteredSchema:
        text = answer.get("schema")
        if not isinstance(text, str):
            raise self._strange("no schema in its answer")
        references = answer.get("references")
        return RegisteredSchema(
            text,
            # Absent for Avro, in Confluent's answers.
            str(answer.get("schemaType") or "AVRO"),
            tuple(
                str(each.get("name"))
                for each in references
                if isinstance(each, dict)
            )
            if isinstance(references, list)
            else (),
        )

    def _read_id(self, answer: dict[str, Any]) -> int:
        found = answer.get("id")
        if not isinstance(found, int) or not 0 <= found < 2**32:
            raise self._strange("no schema id in its answer")
        return found

    def _unreachable(self, error: httpx.TransportError) -> SourceError:
        why = describe_failure(error, PATIENCE_SECONDS)
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


def _read(answer: httpx.Response) -> Any:
    try:
        return from_json(answer.content)
    except ValueError:
        return None


def _read_object(answer: httpx.Response) -> dict[str, Any]:
    body = _read(answer)
    return body if isinstance(body, dict) else {}


WAITING = 5.0
"""Seconds to the next try as long as no probe can be sent."""

AGAIN = 60.0
"""Seconds to the next look at what works, or is not for the agent to fix:
soon enough for a person, and nothing to a registry."""

PROVED = 600.0
"""Seconds that a schema which readers can resolve counts as resolved. It
would have to be deleted to change."""


class SchemaWorker:
    """Registers the probe's schema at the source, and looks at the target.

    Parameters
    ----------
    flow
        Name of the flow.
    topic
        Canary topic at the source.
    encoding
        Gets the id, and knows the ids that arrive.
    source
        Registry of the source.
    target
        Registry of the target; `None` if readers there have none of their
        own.
    problems
        Findings, shared with other threads.
    clock
        A clock that only goes forward, in seconds.

    Notes
    -----
    The id is not kept in the state file: registering again gives the same
    one, and an id that nobody has verified is never sent.
    """

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        flow: str,
        topic: str,
        encoding: Avro,
        source: Registry,
        target: Registry | None,
        problems: Latest[tuple[Finding, ...]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = f"registrar {flow}"
        # As Confluent's serializers name it, by default.
        self._subject = f"{topic}-value"
        self._encoding = encoding
        self._source = source
        self._target = target
        self._problems = problems
        self._clock = clock
        self._register_at = self._look_at = clock()
        self._looked_for: int | None = None
        self._at_source: Finding | None = None
        self._at_target: Finding | None = None

    def step(self) -> None:
        if self._clock() >= self._register_at:
            self._at_source = self._register()
            waiting = not self._encoding.ready
            pause = WAITING if waiting else AGAIN
            self._register_at = self._clock() + pause
            self._publish()
        arrived, target = self._encoding.arrived_id, self._target
        if target is None or arrived is None:
            return
        if arrived != self._looked_for or self._clock() >= self._look_at:
            self._at_target = self._look(target, arrived)
            self._looked_for = arrived
            pause = AGAIN if self._at_target else PROVED
            self._look_at = self._clock() + pause
            self._publish()

    def close(self) -> None:
        self._source.close()
        if self._target is not None:
            self._target.close()

    def _publish(self) -> None:
        found = (self._at_source, self._at_target)
        self._problems.set(tuple(p for p in found if p is not None))

    def _register(self) -> Finding | None:
        try:
            # Found first: that needs no right to write, where somebody else
            # has registered it.
            found = self._source.find(self._subject, SCHEMA)
            if found is None:
                found = self._source.register(self._subject, SCHEMA)
        except SourceError as e:
            known = self._encoding.schema_id
            return texts.UNREADABLE.found(
                Health.UNKNOWN,
                problem=str(e),
                schema=self._subject if known is None else None,
            )
        self._encoding.schema_id = found
        return None

    def _look(self, target: Registry, schema_id: int) -> Finding | None:
        try:
            found = target.schema(schema_id)
        except SourceError as e:
            return texts.UNREADABLE.found(Health.UNKNOWN, problem=str(e))
        if found is not None and is_same_schema(found):
            return None
        return texts.UNDECODABLE.found(
            Health.WARNING,
            {"cluster": target.cluster},
            schema_id=schema_id,
            registered="unknown" if found is None else "a different schema",
        )
