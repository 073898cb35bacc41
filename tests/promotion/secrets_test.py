"""What opens a door at one site does not reach another one unseen."""

from typing import Any

import pytest

from mirrorwatch_promotion.item import Item
from mirrorwatch_promotion.kapacitor import rewrite_handler, rewrite_task
from mirrorwatch_promotion.push import PlannedChange, render_change
from mirrorwatch_promotion.values import Rewriter, Translation, ValueKind

OLD, NEW = "Bearer of-the-stand", "Bearer of-the-summit"
UNKNOWN = Translation({}, {})
KNOWN = Translation(
    {ValueKind.HANDLER: {"hook": OLD}}, {ValueKind.HANDLER: {"hook": NEW}}
)
HEADERS = ("Authorization", "X-Api-Key", "X-Auth-Token")


def script(header: str, value: str) -> dict[str, Any]:
    text = f"stream|from()|alert().post().header('{header}', '{value}')"
    return {"script": text}


def handler(header: str, value: str) -> dict[str, Any]:
    return {
        "topic": "dome",
        "id": "hook",
        "kind": "post",
        "match": "",
        "options": {"headers": {header: value}},
    }


@pytest.mark.parametrize("header", HEADERS)
def test_a_secret_of_a_header_stops_unless_the_map_knows_it(
    header: str,
) -> None:
    stopped, known = Rewriter(UNKNOWN), Rewriter(KNOWN)
    rewrite_task(script(header, OLD), stopped)
    rewrite_handler(handler(header, OLD), stopped)
    told = [str(stop) for stop in stopped.stops]
    assert len(told) == 2
    for line in told:
        assert f"{header}: handler (hidden) is not in the map" in line
    assert rewrite_task(script(header, OLD), known) == script(header, NEW)
    assert rewrite_handler(handler(header, OLD), known) == handler(header, NEW)
    assert known.stops == []


def test_a_header_that_is_no_secret_is_a_text() -> None:
    rewriter = Rewriter(UNKNOWN)
    plain = script("Content-Type", "text/plain")
    assert rewrite_task(plain, rewriter) == plain
    assert rewriter.stops == []


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
