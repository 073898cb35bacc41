import pytest

from mirrorwatch.state import Database

__all__ = ["database"]


@pytest.fixture
def database() -> Database:
    """A state file that agents of one test share, one after the other."""
    return Database(None)
