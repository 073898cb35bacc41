import pytest

from mirrorwatch.state import Database
from mirrorwatch.state.history import History

__all__ = ["history"]


@pytest.fixture
def history() -> History:
    """A history that nothing was recorded in."""
    return History(Database(None))
