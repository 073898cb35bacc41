"""Labs that tests share."""

from collections.abc import Iterator

import pytest

from mirrorwatch_lab import Lab, LabSettings


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Two sites and a mirror at MirrorMaker 2's own intervals."""
    with Lab(LabSettings()) as lab:
        yield lab
