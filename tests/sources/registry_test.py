"""What a schema registry may answer."""

import json
import socket
from pathlib import Path

import pytest
import trustme

from mirrorwatch.exceptions import (
    ConfigError,
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from mirrorwatch.http import HttpAddress
from mirrorwatch.sources.registry import Registry
from tests.support.http import Answer, answering, certified

PASSWORD = "hunter2"  # noqa: S105 - looked for in all that is said


def address(url: str, ca: Path | None = None) -> HttpAddress:
    return HttpAddress(url=url, username="u", password=PASSWORD, ca=ca)


def failure(answer: Answer) -> SourceError:
    """Return what each question raises; all of them say the same."""
    with answering(answer):
        registry = Registry("summit", address(answer.url))
        questions = (
            lambda: registry.find("t-value", "{}"),
            lambda: registry.register("t-value", "{}"),
            lambda: registry.schema(3),
        )
        found: list[SourceError] = []
        for question in questions:
            with pytest.raises(SourceError) as caught:
                question()
            found.append(caught.value)
        registry.close()
    assert len({(type(e), e.cluster) for e in found}) == 1
    for error in found:
        # The address may be secret, the password is.
        assert PASSWORD not in str(error)
        assert answer.url not in str(error)
        assert "clusters.summit.schema_registry" in str(error) or (
            "schema registry of summit" in str(error)
        )
    return found[0]


def test_it_is_asked_as_confluents_is() -> None:
    body = json.dumps({"id": 7, "schema": "{}"}).encode()
    with answering(Answer(status=200, body=body)) as answer:
        registry = Registry("summit", address(answer.url))
        assert registry.find("a/b-value", "{}") == 7
        assert registry.register("a/b-value", "{}") == 7
        assert registry.schema(7) == "{}"
        registry.close()
    assert answer.asked == [
        "/subjects/a%2Fb-value",
        "/subjects/a%2Fb-value/versions",
        "/schemas/ids/7",
    ]
    assert set(answer.logins) == {"Basic dTpodW50ZXIy"}


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_what_it_does_not_know_is_not_an_error(code: int) -> None:
    body = json.dumps({"error_code": code, "message": "none"}).encode()
    with answering(Answer(status=404, body=body)) as answer:
        registry = Registry("summit", address(answer.url))
        assert registry.find("t-value", "{}") is None
        assert registry.schema(7) is None
        registry.close()


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_login_names_the_keys(status: int) -> None:
    error = failure(Answer(status=status))
    assert isinstance(error, SourceDeniedError)
    assert f"status {status}" in str(error)
    assert "username and password" in str(error)


@pytest.mark.parametrize("status", [409, 422, 503])
def test_a_refusal_is_told_in_its_own_words(status: int) -> None:
    body = json.dumps({"message": "Incompatible\n " + "x" * 999}).encode()
    error = failure(Answer(status=status, body=body))
    assert f"status {status}, Incompatible xx" in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"<h1>Not found</h1>"),
        (200, b"<h1>Welcome</h1>"),
        (200, b"[]"),
        (200, b'{"id": "7", "schema": 7}'),
        (200, b'{"id": -1}'),
        (200, b""),
    ],
)
def test_what_is_no_registry_is_called_so(status: int, body: bytes) -> None:
    error = failure(Answer(status=status, body=body))
    assert "leads to another server" in str(error)
    assert "clusters.summit.schema_registry.url" in str(error)


def test_a_redirect_takes_the_password_nowhere() -> None:
    with answering(Answer(status=200, body=b"{}")) as elsewhere:
        error = failure(
            Answer(status=302, headers={"Location": elsewhere.url})
        )
    assert "status 302" in str(error)
    assert elsewhere.asked == []


@pytest.mark.slow
def test_one_that_says_nothing_is_left_after_seconds() -> None:
    with answering(Answer(never=True)) as answer:
        registry = Registry("summit", address(answer.url))
        with pytest.raises(
            SourceUnavailableError, match="no answer within 3 s"
        ):
            registry.find("t-value", "{}")
        registry.close()


def test_one_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        registry = Registry("summit", address(f"http://127.0.0.1:{port}"))
        with pytest.raises(SourceUnavailableError, match="refused"):
            registry.find("t-value", "{}")
        registry.close()


def test_a_certificate_is_checked_against_the_configured_authority(
    tmp_path: Path,
) -> None:
    tls = certified(tmp_path / "right")
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "wrong"))
    with answering(Answer(status=200, body=b'{"id": 7}'), tls) as answer:
        trusting = Registry("summit", address(answer.url, tmp_path / "right"))
        assert trusting.find("t-value", "{}") == 7
        trusting.close()
        doubting = Registry("summit", address(answer.url, tmp_path / "wrong"))
        with pytest.raises(
            SourceUnavailableError, match="CERTIFICATE_VERIFY_FAILED"
        ):
            doubting.find("t-value", "{}")
        doubting.close()
    assert len(answer.asked) == 1


def test_an_authority_that_cannot_be_read_is_an_error_of_the_configuration(
    tmp_path: Path,
) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text("no certificate")
    for ca in (wrong, tmp_path / "none.pem"):
        with pytest.raises(
            ConfigError, match=r"clusters\.summit\.schema_registry\.ca"
        ):
            Registry("summit", address("https://127.0.0.1:1", ca))


def test_the_address_does_not_show_the_password() -> None:
    assert PASSWORD not in repr(address("http://r"))
