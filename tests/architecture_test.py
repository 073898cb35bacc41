"""Which package may import which, and other rules that only rot unseen."""

import ast
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "agent" / "mirrorwatch"

ALLOWED = {
    "domain": set[str](),
    "ports": {"domain"},
    # The canary's books are kept in the state file by their one writer.
    "kafka": {"domain", "ports"},
    "sources": {"domain", "kafka", "ports", "state"},
    "mirrors": {"domain", "ports"},
    "state": {"domain", "ports"},
    "sinks": {"domain", "ports", "state"},
    "web": {"domain", "ports", "state"},
    "pipeline": {"domain", "ports", "state"},
    # Speaks the domain's words for topics and names, and nothing else.
    "config": {"domain"},
    "draft": {"config", "domain", "mirrors", "sources"},
    "maven": set[str](),
    "log": set[str](),
    "rotation": {"config"},
    "daemon": {"domain", "ports", "pipeline", "state", "web"},
    "audit": {
        *("config", "domain", "kafka", "mirrors", "ports", "sources"),
        *("state", "wiring"),
    },
    "doctor": {
        *("config", "domain", "kafka", "ports", "sinks", "sources", "state"),
        "wiring",
    },
    "wiring": {
        *("config", "domain", "kafka", "mirrors", "ports", "sinks"),
        *("sources", "state"),
    },
}
"""Parts of the package that each part may import, beside itself and
LEAVES."""

UNRULED = {"factory", "cli"}
"""Parts that may import everything."""

LEAVES = {"exceptions", "clock", "bundled_files", "isolation", "secrets"}
LEAVES |= {"http", "msk", "threads"}
"""Parts that everything but the domain may import."""

BESIDE = ("alerting", "dashboards", "lab", "promotion")
"""Packages beside the agent's, which it runs without."""

CLOCKS = {"time", "now", "utcnow", "utc_now", "today", "monotonic"}
CLOCKS |= {"perf_counter", "time_ns", "monotonic_ns"}
"""Names with which code asks what time it is."""

IMPURE = {"time", "threading", "socket", "os", "subprocess", "asyncio"}
"""Modules of the standard library that reach out of the process."""


EVERYTHING = {file.stem for file in PACKAGE.iterdir()}
"""What a part without rules may import."""


@cache
def _nodes(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def _files(folder: Path = PACKAGE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _name(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def _part(name: str) -> str:
    """Return the part that ``sinks/log.py`` or ``daemon.py`` belongs to."""
    return name.partition("/")[0].removesuffix(".py")


@cache
def _imports(file: Path) -> frozenset[str]:
    """Return what a file imports, as absolute dotted names."""
    found: set[str] = set()
    package = ("mirrorwatch", *file.relative_to(PACKAGE).parent.parts)
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level]
            parents = base if node.level else ()
            module = ".".join((*parents, *filter(None, [node.module])))
            # ``from . import x`` may import the module x.
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return frozenset(found)


def _packages(file: Path) -> set[str]:
    return {name.partition(".")[0] for name in _imports(file)}


def _names(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _imported_parts(file: Path) -> set[str]:
    return {
        name.split(".")[1]
        for name in _imports(file)
        if name.startswith("mirrorwatch.") and not name.endswith("__version__")
    }


def test_a_part_imports_only_the_parts_below_it() -> None:
    wrong = {}
    for file in _files():
        part = _part(_name(file))
        leaves = LEAVES if part != "domain" else set[str]()
        allowed = ALLOWED.get(part, EVERYTHING) | leaves | {part}
        if above := _imported_parts(file) - allowed:
            wrong[_name(file)] = above
    assert wrong == {}


def test_the_rules_know_every_part_of_the_package() -> None:
    ruled = {*ALLOWED, *UNRULED, *LEAVES, "__init__", "__main__"}
    assert {_part(_name(file)) for file in _files()} == ruled


def test_the_domain_needs_only_the_standard_library() -> None:
    known = {*sys.stdlib_module_names, "mirrorwatch"} - IMPURE
    wrong = {
        _name(file): others
        for file in _files(PACKAGE / "domain")
        if (others := _packages(file) - known)
    }
    assert wrong == {}


def test_the_domain_never_asks_for_the_time() -> None:
    asked = [
        f"{_name(file)}: {ast.unparse(node)}"
        for file in _files(PACKAGE / "domain")
        for node in _nodes(file)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in CLOCKS
    ]
    assert asked == []


def test_the_agent_imports_none_of_the_packages_beside_it() -> None:
    beside = {f"mirrorwatch_{name}" for name in BESIDE}
    users = {_name(file): _packages(file) & beside for file in _files()}
    assert {name: used for name, used in users.items() if used} == {}
    there = {folder.name for folder in PACKAGE.parent.iterdir()}
    assert beside <= there


def test_the_agent_never_imports_pyspark() -> None:
    assert [f for f in _files() if "pyspark" in _packages(f)] == []


def test_only_isolation_catches_every_exception_and_once() -> None:
    found = [
        _name(file)
        for file in _files()
        for node in _nodes(file)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or _names(node.type) & {"Exception"})
    ]
    assert found == ["isolation.py"]
