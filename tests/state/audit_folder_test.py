from pathlib import Path

import pytest

from mirrorwatch.state.audits import local_path, to_url


def test_a_path_is_a_folder_of_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    assert to_url(str(folder)) == f"file://{tmp_path}/a%20b"
    assert local_path(str(folder)) == folder
    assert local_path(to_url(str(folder))) == folder


def test_a_relative_path_is_taken_from_where_one_stands() -> None:
    assert local_path("audit") == Path.cwd() / "audit"


@pytest.mark.parametrize("url", ["hdfs://name/a", "s3a://bucket/a"])
def test_a_url_stays_what_it_is_and_is_elsewhere(url: str) -> None:
    assert to_url(url) == url
    assert local_path(url) is None


def test_a_file_url_may_have_one_slash(tmp_path: Path) -> None:
    assert local_path(f"file:{tmp_path}") == tmp_path
