"""The JSON Schema accepts what the agent does, and no wrong type."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from mirrorwatch.config.schema import make_schema, render_schema
from tests.support.bad_configs import from_schema, whole

ROOT = Path(__file__).parents[2]

SCHEMA = Draft202012Validator(make_schema())


def problems(data: Any) -> list[str]:
    return [f"{e.json_path}: {e.message}" for e in SCHEMA.iter_errors(data)]


def test_the_published_one_is_that_of_today() -> None:
    published = ROOT / "docs" / "configuration.schema.json"
    assert published.read_text() == render_schema(), (
        "python -m mirrorwatch.config.schema > docs/configuration.schema.json"
    )
    Draft202012Validator.check_schema(make_schema())


@pytest.mark.parametrize(
    "file", ["agent/config.example.yaml", "compose/mirrorwatch.yaml"]
)
def test_examples_hold(file: str) -> None:
    assert problems(yaml.safe_load((ROOT / file).read_text())) == []


def test_all_that_can_be_configured_holds() -> None:
    assert problems(whole()) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("interval",), "${env:INTERVAL}"),
        (("interval",), None),
        (("flows", 0, "canary", "partitions"), "${file:/run/partitions}"),
        (("flows", 0, "canary", "enabled"), "${env:CANARY}"),
        (("flows", 0, "naming"), "identity"),
        (("flows", 0, "naming"), {"format": "x.${topic}"}),
        (("flows", 0, "mirror"), None),
        (("flows", 0, "topics", "include"), "a.*,b.*"),
        (("flows", 0, "topics", "filtered"), ["y.x"]),
        (("clusters", "a", "kafka"), {"bootstrap.servers": "a", "x": 1}),
    ],
    ids=str,
)
def test_other_forms_of_a_value_hold(
    path: tuple[str | int, ...], value: Any
) -> None:
    data: Any = whole()
    *above, last = path
    block = data
    for part in above:
        block = block[part]
    block[last] = value
    assert problems(data) == []


TOO_LONG = re.compile(r"\d+d")
"""Bounds of durations are told by the agent only."""


@pytest.mark.slow
def test_no_wrong_type_holds() -> None:
    wrong = list(from_schema())
    assert len(wrong) > 500
    held = [
        x
        for x in wrong
        if not problems(yaml.load(x.text, Loader=yaml.CSafeLoader))
    ]
    unknown = [
        x.name
        for x in held
        # No number of JSON is that.
        if ".nan" not in x.text and not TOO_LONG.search(x.text)
    ]
    assert unknown == ["flows.0.naming-1"]  # any text there is a policy


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("interval: 5", "$.interval"),
        ("interval: 5 s", "$.interval"),
        ("intervall: 5s", "$"),
        ("flows: []", "$.flows"),
        ("web: {listen: 3}", "$.web"),
    ],
)
def test_what_editors_show_has_a_place(text: str, where: str) -> None:
    data = whole() | yaml.safe_load(text)
    assert any(p.startswith(f"{where}: ") for p in problems(data))
