"""Two real sites, a test stand and the summit; and three Grafanas."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.grafana import Grafanas, three_grafanas
from tests.support.two_sites import RealSite, TwoSites

__all__ = ["grafanas", "two_sites"]


@pytest.fixture(scope="module")
def two_sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoSites]:
    folder = tmp_path_factory.mktemp("sites")
    with ExitStack() as stack:
        stand = RealSite(folder / "stand", database="efd_stand", policy="week")
        stack.callback(stand.stop)
        stand.start()
        summit = RealSite(folder / "summit", database="efd", policy="raw")
        stack.callback(summit.stop)
        # Ids differ between sites: the efd is not the first one here.
        summit.start(sources=("other", "efd"))
        yield TwoSites(folder, stand, summit)


@pytest.fixture
def grafanas(tmp_path: Path) -> Iterator[Grafanas]:
    with three_grafanas(tmp_path) as started:
        yield started
