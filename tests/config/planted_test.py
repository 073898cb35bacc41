"""A secret in any key of the schema, and in any form, is shown nowhere."""

import io
import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from mirrorwatch.cli.check_config import print_page, summarize
from mirrorwatch.config import Config
from mirrorwatch.config.display import to_display
from mirrorwatch.config.notes import find_client_faults
from mirrorwatch.exceptions import ConfigError
from mirrorwatch.secrets import HIDDEN, hide_secrets, looks_secret, may_quote
from tests.support.bad_configs import SECRET, put, schema_keys, whole

REFERENCE = "${env:PLANTED}"

KAFKA = ("clusters", "a", "kafka")

KEYS = [
    *(path for path, _ in schema_keys()),
    *((*KAFKA, key) for key in ("client.rack", "sasl.password", "foo.bar")),
    (*KAFKA, "bootstrap.servers"),
    *((*KAFKA, key) for key in ("ssl.key.pem", "sasl.username", "debug")),
    ("flows", 0, "classes", "x"),
    ("flows", 0, "topics", "include", 0),
    ("flows", 0, "mirror", "jmx", "urls", 0),
    ("unknown",),
]


def forms(path: tuple[str | int, ...]) -> Iterator[Any]:
    """Yield a secret in every form that a value can have."""
    yield REFERENCE
    yield f"before {REFERENCE}"
    yield f"http://{REFERENCE}:1"
    yield [REFERENCE]
    yield {"x": REFERENCE}
    yield [[REFERENCE]]
    yield f"https://user:{SECRET}@host/path"
    yield f"https://host/path?token={SECRET}"
    yield f"s3a://KEY:{SECRET}@bucket/path"
    yield [f"https://user:{SECRET}@host/path"]
    yield {f"https://user:{SECRET}@host": 1}
    yield f"xoxb-{SECRET}-and-more"
    if looks_secret(str(path[-1])):
        yield SECRET
        yield [SECRET]
        yield {"x": SECRET}


def load(file: Path) -> tuple[list[str], Config | None]:
    """Return all that shows a configuration, and itself if it is one."""
    try:
        config = Config.from_file(file)
    except ConfigError as e:
        return ["".join(traceback.format_exception(e))], None
    return list(show_all(config)), config


def explain(config: Config) -> Iterator[str]:
    """Yield what `check-config` prints."""
    summary = summarize(config)
    yield json.dumps(summary)
    page = io.StringIO()
    print_page(summary, Console(file=page, highlight=False, width=1000))
    yield page.getvalue()
    for cluster in config.clusters.values():
        yield from map(str, find_client_faults(cluster.kafka))


def show_all(config: Config) -> Iterator[str]:
    """Yield all that shows a configuration without asking for secrets."""
    yield repr(config)
    yield str(config)
    yield json.dumps(to_display(config))


@pytest.mark.slow
@pytest.mark.parametrize("path", KEYS, ids=lambda p: ".".join(map(str, p)))
def test_a_planted_secret_is_not_shown(
    path: tuple[str | int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED", SECRET)
    file = tmp_path / "config.yaml"
    for value in forms(path):
        # libyaml: three thousand files.
        planted = put(whole(), path, value)
        file.write_text(yaml.dump(planted, Dumper=yaml.CSafeDumper))
        shown, config = load(file)
        if config is not None:
            shown += list(explain(config))
        assert not [text for text in shown if SECRET in text], value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at http://u:pw@h:1/x", f"at http://{HIDDEN}@h:1/x"),
        ("http://u:p@ss/w@h/x?a=b", None),
        ("s3a://KEY:SECRET@bucket/x", f"s3a://{HIDDEN}@bucket/x"),
        ("http://h/x?token=pw#y and", f"http://h/x?{HIDDEN} and"),
        ("http://h/#pw", f"http://h/?{HIDDEN}"),
        ("key AKIAIOSFODNN7EXAMPLE.", f"key {HIDDEN}."),
        ("ghp_0123456789abcdefghij", HIDDEN),
        ("xoxb-123456789012-abc", HIDDEN),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc", HIDDEN),
        ("-----BEGIN PRIVATE KEY-----\nMII", HIDDEN),
    ],
)
def test_what_has_the_form_of_a_secret_is_hidden(
    text: str, shown: str | None
) -> None:
    assert not may_quote(text)
    if shown is not None:
        assert hide_secrets(text) == shown


@pytest.mark.parametrize(
    "text",
    ["lsst.sal.[A-Z]+", "12:30", "a->b", "/var/lib/x.db", "x?y#z", "task-key"],
)
def test_other_texts_stay(text: str) -> None:
    assert may_quote(text)
    assert hide_secrets(text) == text
