"""Every rule has a file that breaks it, beside the message it must give."""

from pathlib import Path

import pytest

from mirrorwatch.config import Config
from mirrorwatch.exceptions import ConfigError

DATA = Path(__file__).parents[1] / "data" / "bad_config"

FILES = sorted(path.stem for path in DATA.glob("*.yaml"))


def load(name: str) -> str:
    path = DATA / f"{name}.yaml"
    with pytest.raises(ConfigError) as caught:
        Config.from_file(path)
    return str(caught.value).replace(str(path), path.name)


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_refused_with_the_message_beside_it(name: str) -> None:
    assert load(name) == (DATA / f"{name}.txt").read_text().rstrip("\n")


@pytest.mark.parametrize("name", FILES)
def test_no_message_tells_a_secret(name: str) -> None:
    assert "hunter2" not in load(name)


def test_every_expected_message_has_its_file() -> None:
    assert sorted(path.stem for path in DATA.glob("*.txt")) == FILES
    assert len(FILES) > 40


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the file: No such"):
        Config.from_file(tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match="cannot read the file: Is a dir"):
        Config.from_file(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00clusters")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        Config.from_file(path)
    path.write_bytes(b"clusters: \x01")
    with pytest.raises(ConfigError, match="not YAML: forbidden characters"):
        Config.from_file(path)
    path.write_text("[" * 5000)
    with pytest.raises(ConfigError, match="not YAML: nested too deeply"):
        Config.from_file(path)


def test_a_block_that_contains_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.yaml"
    path.write_text("clusters: &c\n  a: {kafka: {x: y}}\n  b: *c\nflows: []\n")
    with pytest.raises(ConfigError, match=r"clusters\.b: contains itself"):
        Config.from_file(path)
