"""Rules of the code that the import linter cannot hold."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "agent" / "mirrorwatch"

CLOCKS = {"time", "now", "utcnow", "utc_now", "today", "monotonic"}
CLOCKS |= {"perf_counter", "time_ns", "monotonic_ns"}
"""Names with which code asks what time it is."""

IMPURE = {"time", "threading", "socket", "os", "subprocess", "asyncio"}
"""Modules of the standard library that reach out of the process."""


ANY_ERROR = re.compile(r"(?m)^ *except\b(?:[^:]*\bException\b| *:)")


@cache
def _parse(file: Path) -> ast.AST:
    return ast.parse(file.read_text(encoding="utf-8"))


def _nodes(folder: Path) -> Iterator[tuple[str, ast.AST]]:
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(_parse(file)):
            yield file.name, node


def test_the_domain_needs_only_the_standard_library() -> None:
    imported = set[str]()
    for _, node in _nodes(PACKAGE / "domain"):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add(str(node.module))
    packages = {name.partition(".")[0] for name in imported}
    assert packages <= sys.stdlib_module_names - IMPURE


def test_the_domain_never_asks_for_the_time() -> None:
    asked = [
        f"{name}: {ast.unparse(node)}"
        for name, node in _nodes(PACKAGE / "domain")
        if isinstance(node, ast.Call) and _last_name(node.func) in CLOCKS
    ]
    assert asked == []


def test_only_isolation_catches_every_exception_and_once() -> None:
    found = [
        file.name
        for file in sorted(PACKAGE.rglob("*.py"))
        for _ in ANY_ERROR.findall(file.read_text(encoding="utf-8"))
    ]
    assert found == ["isolation.py"]


def _last_name(called: ast.expr) -> str:
    match called:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
