"""Secrets in diffs and errors."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from mirrorwatch_promotion.config import ServerConfig
from mirrorwatch_promotion.exceptions import PromotionError
from mirrorwatch_promotion.http import Api
from mirrorwatch_promotion.item import Item
from mirrorwatch_promotion.plan import PlannedChange, render_change
from tests.support.http import Answer, answering, certified


@pytest.mark.parametrize(
    "content",
    [
        {"vars": {"api_token": {"type": "string", "value": "hunter2"}}},
        {
            "vars": {
                "tokens": {
                    "type": "list",
                    "value": [{"type": "string", "value": "hunter2"}],
                }
            }
        },
        {"options": {"headers": {"Authorization": "hunter2"}}},
    ],
)
def test_a_diff_shows_no_value_below_a_secrets_name(
    content: dict[str, Any],
) -> None:
    item = Item(kind="task", name="a", title="a", content=content)
    lines = render_change(PlannedChange(item, None), "summit", [])
    assert "hunter2" not in "\n".join(lines)
    assert "**********" in "\n".join(lines)


def test_a_known_secret_is_hidden_as_it_stands_in_json() -> None:
    secret = chr(34).join(("pass", "word"))
    item = Item(kind="task", name="a", title="a", content={"note": secret})
    lines = render_change(PlannedChange(item, None), "summit", [secret])
    assert "word" not in "\n".join(lines)


PASSWORD = "pass-word-9"  # noqa: S105


def ask(url: str, ca: Path | None = None) -> None:
    server = ServerConfig(
        url=url, username="u", password=SecretStr(PASSWORD), ca=ca
    )
    api = Api("summit", "chronograf", server, [PASSWORD])
    try:
        api.ask("GET", "/dashboards")
    finally:
        api.close()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            Answer(401),
            "refuses the login (status 401): see username and password",
        ),
        (
            Answer(403, b'{"message": "viewers only"}'),
            "does not allow it (viewers only): see the rights of the user",
        ),
        (
            Answer(302, headers={"Location": f"/login?{PASSWORD}"}),
            "sends on to /login?**********, where no secret is sent: see",
        ),
        (
            Answer(404, b'{"message": "what?"}'),
            "has nothing at /dashboards (what?): see sites.summit.chronograf",
        ),
        (Answer(200, b"<html>"), "does not speak its API: see sites.summit"),
        (Answer(422, b'{"message": "no name"}'), "refuses: no name"),
        (Answer(500), "refuses: status 500"),
        (Answer(400, f'{{"error": "{PASSWORD}"}}'.encode()), "refuses: ****"),
    ],
)
def test_an_answer_is_told_with_what_to_mend(
    answer: Answer, told: str
) -> None:
    with answering(answer), pytest.raises(PromotionError) as refused:
        ask(answer.url)
    assert told in str(refused.value)
    assert f"chronograf of summit ({answer.url})" in str(refused.value)
    assert PASSWORD not in str(refused.value)


def test_a_certificate_is_trusted_if_the_sites_file_says_so(
    tmp_path: Path,
) -> None:
    ca = tmp_path / "ca.pem"
    with answering(Answer(200, b"[]"), tls=certified(ca)) as server:
        ask(server.url, ca)
        with pytest.raises(PromotionError) as refused:
            ask(server.url)
    assert "is not trusted" in str(refused.value)
    assert "see sites.summit.chronograf.ca" in str(refused.value)
