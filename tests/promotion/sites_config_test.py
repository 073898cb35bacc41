"""The sites file: what is refused, and what is never shown."""

import re
from pathlib import Path

import pytest

from mirrorwatch.exceptions import ConfigError
from mirrorwatch_promotion.config import SitesConfig


def load(folder: Path, text: str) -> SitesConfig:
    file = folder / "sites.yaml"
    file.write_text(text)
    return SitesConfig.from_file(file)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "sites.yaml:1: is empty; needed are sites"),
        ("sites: {}", "sites: must not be empty"),
        ("site: {}", "site: unknown key; did you mean sites? allowed are"),
        (
            "sites: {a: {kapacitors: {}}}",
            (
                "sites.yaml:1: sites.a.kapacitors: unknown key; did you mean "
                "kapacitor? allowed are chronograf, grafana, kapacitor, values"
            ),
        ),
        (
            "sites: {a: {kapacitor: {url: 'http://u:pw@h'}}}",
            "sites.a.kapacitor.url: must hold no user, password",
        ),
        (
            "sites: {a: {kapacitor: {url: 'http://h', username: u}}}",
            "sites.a.kapacitor.password: is missing; username and password",
        ),
        (
            (
                "sites: {a: {grafana: {url: 'http://h', token: t, "
                "username: u, password: p}}}"
            ),
            "sites.a.grafana.token: is one way too many; allowed are token",
        ),
        (
            "sites: {ours: {kapacitor: {url: 'http://h'}}}",
            "sites.ours: is what comes with mirrorwatch",
        ),
        (
            "sites: {a: {values: {topic: ''}}}",
            "sites.a.values.topic: must not be empty",
        ),
        (
            "sites: {a: {values: {channel: '${env:NOT_SET_HERE}'}}}",
            (
                "sites.a.values.channel: ${env:NOT_SET_HERE}: the "
                "environment variable is not set"
            ),
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_place_and_what_is_allowed(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, text)
    assert problem in str(refused.value)
    assert "pw" not in str(refused.value)


def test_what_comes_from_a_reference_is_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "hunter2")
    sites = load(
        tmp_path,
        """
        sites:
          a:
            kapacitor: {url: "http://h", username: u, password: pass-word}
            values: {channel: "${env:THE_KEY}", api_token: t0ken, page: p}
        """,
    )
    site = sites.sites["a"]
    assert site.secrets == {"hunter2", "t0ken", "pass-word"}
    assert "hunter2" not in repr(sites)
    assert site.values["channel"] == "hunter2"


def test_the_file_in_the_docs_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[2] / "docs" / "promotion.md"
    text = page.read_text("utf-8")
    (example,) = re.findall(
        r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    )
    monkeypatch.setenv("TESTSTAND_PASSWORD", "x")
    token = tmp_path / "grafana"
    token.write_text("y")
    sites = load(tmp_path, example.replace("/run/secrets/grafana", str(token)))
    stand, summit = (sites.sites[name] for name in ("teststand", "summit"))
    assert stand.values.keys() == summit.values.keys()
