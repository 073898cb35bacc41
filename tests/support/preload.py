"""Libraries in C that are preloaded into a process."""

import shutil
import subprocess
from pathlib import Path

import pytest

__all__ = ["compiled"]


def compiled(name: str, folder: Path) -> Path:
    """Compile a library of this folder; skip the test without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("a C compiler is missing: Debian's package gcc")
    library = folder / f"{name}.so"
    source = Path(__file__).parent / f"{name}.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", library, source],
        check=True,
    )
    return library
