"""What is shown of a script holds no secret."""

import pytest

from mirrorwatch_promotion.item import HIDDEN, hide


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (".token('abc')", f".token('{HIDDEN}')"),
        (".routingKey('a\\'b')", f".routingKey('{HIDDEN}')"),
        ("var api_token = 'abc'", f"var api_token = '{HIDDEN}'"),
        ('  "service-key": "abc",', f'  "service-key": "{HIDDEN}",'),
        (
            ".header('Authorization', 'abc')",
            f".header('Authorization', '{HIDDEN}')",
        ),
        ("http://u:abc@host/x", f"http://u:{HIDDEN}@host/x"),
        (
            ".post('https://hooks.slack.com/services/T0/B0/abc')",
            f".post('https://hooks.slack.com/services/{HIDDEN}')",
        ),
        ("x = 'xoxb-12345-abc'", f"x = 'xoxb-{HIDDEN}'"),
        ("'Bearer abcdefghij'", f"'Bearer {HIDDEN}'"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    assert hide(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "var db = 'efd'",
        ".channel('#alerts')",
        "http://host:8080/page",
        ".token('')",
        "Kafka's key is null: 'x'",
        "SELECT keys FROM x",
    ],
)
def test_what_does_not_is_shown(text: str) -> None:
    assert hide(text) == text


def test_a_known_secret_is_hidden_wherever_it_is() -> None:
    assert hide("a hunter2 b", ["hunter2", ""]) == f"a {HIDDEN} b"
