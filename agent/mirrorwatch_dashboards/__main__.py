"""``python -m mirrorwatch_dashboards FOLDER`` writes what is kept in git."""

import sys
from pathlib import Path

from .files import write

if __name__ == "__main__":
    write(Path(sys.argv[1]))
