"""One Spark for all files of this folder."""

from collections.abc import Iterator

import pytest

from tests.support.audit_spark import end_spark


@pytest.fixture(scope="session", autouse=True)
def spark_ends() -> Iterator[None]:
    yield
    end_spark()
