"""Measures the structure of a tree, to compare one before and one after.

``python -m tests.bench.structure [ROOT]`` prints files and lines of code,
small modules with a single user, private functions, class names that stand
for several things, and the files that three subjects cross. ``--rules``
lists what breaks the rules of the structure instead.

Definitions
-----------
lines of code
    Lines that hold a token, without comments, docstrings, texts below fields
    and blank lines.
agent proper
    The package `mirrorwatch`, without what belongs to the lab, promotion,
    dashboards and alerting: modules with such a part in their dotted name,
    and packages such as ``mirrorwatch_lab``. They make a row each.
single sibling
    A module that exactly one other module uses, in the same folder. Names
    are followed through packages that pass them on. An ``__init__.py`` with
    code of its own is a user, but no sibling.
short
    Of these, files of less than 80 lines, with comments and blanks.
used once
    Private functions and methods whose name occurs once in their own file
    besides their definition.
class names
    Names that several classes have, classes inside functions included.
trips
    See `tests.bench.trips`.
"""

import argparse
import ast
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .references import References
from .source_tree import FUNCTION, Module, Tree
from .trips import TRIPS, Crossing, cross

__all__ = ["Figures", "Report", "find_rules_broken", "measure", "structure"]

SHORT = 80
"""Lines below which a module belongs into its single user."""

PRODUCT = "mirrorwatch"
"""Package of the agent."""

APART = ("alerting", "dashboards", "lab", "promotion")
"""Parts of the agent that are or become packages of their own."""

AUDIT_JOBS = "sparkjobs"
"""Folder of the audit's jobs."""

LISTED = 4
"""How many places of a class a line names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """One row of the table. What is `None` is not measured there."""

    name: str
    files: int
    lines: int
    single_siblings: int | None = None
    short_single_siblings: int | None = None
    private_functions: int | None = None
    private_functions_used_once: int | None = None
    private_methods: int | None = None
    private_methods_used_once: int | None = None
    public_class_names: int | None = None
    """Public names that more than one class has."""

    private_class_names: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Everything that was measured of one tree."""

    rows: tuple[Figures, ...]
    trips: Mapping[str, Crossing]
    """By name: what it crosses."""

    lists: Mapping[str, tuple[str, ...]]
    """What the figures are made of, by what it is."""


def structure(root: Path) -> Report:
    """Measure a checkout.

    Parameters
    ----------
    root
        Folder of the checkout or git worktree.
    """
    tree = Tree(root)
    references = References(tree)
    rows = [
        measure(name, tree, modules) for name, modules in _groups(tree).items()
    ]
    rows.append(
        Figures(
            name="tests",
            files=len(tree.tests),
            lines=sum(module.lines for module in tree.tests),
        )
    )
    everything = list(tree.modules.values())
    lists = {
        "short modules with a single sibling": _short_modules(tree),
        "class names of several classes": _places_of_classes(
            tree, _same_names(everything)
        ),
    }
    return Report(
        rows=tuple(rows),
        trips={trip.name: cross(trip, references) for trip in TRIPS},
        lists=lists,
    )


def measure(name: str, tree: Tree, modules: Sequence[Module]) -> Figures:
    """Measure some modules of a tree.

    Parameters
    ----------
    name
        What to call them.
    tree
        The whole tree: who uses a module may be another package.
    modules
        The modules. Class names are compared among them only.
    """
    single = [m for m in modules if single_sibling(tree, m)]
    functions, methods = _private_uses(modules)
    same = _same_names(modules)
    private = sum(each.startswith("_") for each in same)
    return Figures(
        name=name,
        files=len(modules),
        lines=sum(module.lines for module in modules),
        single_siblings=len(single),
        short_single_siblings=sum(m.length < SHORT for m in single),
        private_functions=len(functions),
        private_functions_used_once=functions.count(1),
        private_methods=len(methods),
        private_methods_used_once=methods.count(1),
        public_class_names=len(same) - private,
        private_class_names=private,
    )


def single_sibling(tree: Tree, module: Module) -> Module | None:
    """Return the only module that uses one, if it is in the same folder."""
    users = tree.importers[module.name]
    if module.is_package or len(users) != 1:
        return None
    user = tree.modules[next(iter(users))]
    if user.is_package or user.file.parent != module.file.parent:
        return None
    return user


def find_rules_broken(tree: Tree) -> dict[str, tuple[str, ...]]:
    """Return what breaks the rules of the structure, by rule.

    Parameters
    ----------
    tree
        The whole tree.

    Notes
    -----
    A `Protocol` is implemented by a class that inherits from it, or has all
    its members with the same parameters; classes of the tests and of
    libraries are not seen. One that is only called, by functions as a rule,
    is left out. Imports inside functions count for circles.
    """
    references = References(tree)
    same = _same_names(tree.modules.values())
    public = {name: p for name, p in same.items() if not name.startswith("_")}
    return {
        "public class names that are not unique": _places_of_classes(
            tree, public
        ),
        "short modules with a single sibling": _short_modules(tree),
        "protocols with fewer than two implementations": tuple(
            f"{protocol}: "
            + (", ".join(map(str, implementations)) or "no class")
            for protocol in sorted(references.protocols)
            if set(references.methods(protocol)) != {"__call__"}
            and len(implementations := references.implementations(protocol))
            < 2
        ),
        "circles of imports": tuple(
            " <-> ".join(circle) for circle in _circles(tree.imports)
        ),
    }


def _groups(tree: Tree) -> dict[str, list[Module]]:
    """Return the modules of each row."""
    groups: dict[str, list[Module]] = {"agent proper": []}
    for module in tree.modules.values():
        groups.setdefault(_group(tree, module), []).append(module)
    jobs = groups.pop("audit jobs", [])
    everything = list(tree.modules.values())
    without = [module for module in everything if module not in jobs]
    return groups | {
        "all but audit jobs": without,
        "audit jobs": jobs,
        "whole product": everything,
    }


def _group(tree: Tree, module: Module) -> str:
    if tree.place(module).startswith(f"{AUDIT_JOBS}/"):
        return "audit jobs"
    package, *inner = module.name.split(".")
    if package != PRODUCT:
        return package.removeprefix(f"{PRODUCT}_")
    return next((part for part in inner if part in APART), "agent proper")


def _private_uses(modules: Iterable[Module]) -> tuple[list[int], list[int]]:
    """Return how often each private function and method is used."""
    functions: list[int] = []
    methods: list[int] = []
    for module in modules:
        names = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in module.nodes
            if isinstance(node, ast.Name | ast.Attribute)
        )
        for statement in module.syntax.body:
            if isinstance(statement, ast.ClassDef):
                methods += _uses(statement.body, names)
        functions += _uses(module.syntax.body, names)
    return functions, methods


def _uses(body: Iterable[ast.stmt], names: Mapping[str, int]) -> list[int]:
    return [
        names.get(statement.name, 0)
        for statement in body
        if isinstance(statement, FUNCTION)
        and statement.name.startswith("_")
        and not statement.name.endswith("__")
    ]


def _same_names(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the places of every class name that stands for several."""
    found: dict[str, list[str]] = {}
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module.name)
    return {name: places for name, places in found.items() if len(places) > 1}


def _places_of_classes(
    tree: Tree, same: Mapping[str, list[str]]
) -> tuple[str, ...]:
    return tuple(
        f"{name}: "
        + ", ".join(tree.place(tree.modules[m]) for m in places[:LISTED])
        + (", ..." if len(places) > LISTED else "")
        for name, places in sorted(same.items())
    )


def _short_modules(tree: Tree) -> tuple[str, ...]:
    return tuple(
        f"{tree.place(module)} ({module.length} lines): {user.name}"
        for module in tree.modules.values()
        if module.length < SHORT
        and (user := single_sibling(tree, module)) is not None
    )


def _circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other."""
    reach: dict[str, set[str]] = {}
    for start in imports:
        reach[start], waiting = set(), [start]
        while waiting:
            new = imports[waiting.pop()] - reach[start]
            reach[start] |= new
            waiting += new
    circles = {
        tuple(sorted(o for o in reach[start] if start in reach[o]))
        for start in imports
        if start in reach[start]
    }
    return [list(circle) for circle in sorted(circles)]


COLUMNS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("files", lambda row: f"{row.files:,}"),
    ("lines", lambda row: f"{row.lines:,}"),
    (
        "single sibling (short)",
        lambda row: _pair(row.single_siblings, row.short_single_siblings),
    ),
    (
        "private functions (once)",
        lambda row: _pair(
            row.private_functions, row.private_functions_used_once
        ),
    ),
    (
        "private methods (once)",
        lambda row: _pair(row.private_methods, row.private_methods_used_once),
    ),
    (
        "class names (private)",
        lambda row: _pair(row.public_class_names, row.private_class_names),
    ),
)
"""The table: titles, and what they show of a row."""


def _pair(first: int | None, second: int | None) -> str:
    return "" if first is None else f"{first} ({second})"


def _print_table(report: Report) -> None:
    width = max(len(row.name) for row in report.rows)
    titles = [title for title, _ in COLUMNS]
    print(" " * width, *(f"{title:>8}" for title in titles), sep="  ")
    for row in report.rows:
        cells = (
            f"{show(row):>{max(len(title), 8)}}" for title, show in COLUMNS
        )
        print(f"{row.name:{width}}", *cells, sep="  ")
    print()
    for name, trip in report.trips.items():
        files = "unknown" if trip.files is None else trip.files
        print(f"{name}: {files} files, {trip.definitions} definitions")
        for problem in trip.problems:
            print(f"  {problem}")


def _print_lists(lists: Mapping[str, Sequence[str]]) -> None:
    for title, lines in lists.items():
        print(f"\n{title}: {len(lines)}")
        for line in lines:
            print(f"  {line}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.structure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "root",
        nargs="?",
        type=Path,
        default=Path(__file__).parent.parent.parent,
        help="checkout or git worktree; by default, the one of this file",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON, for programs"
    )
    parser.add_argument(
        "--list", action="store_true", help="list what is behind the figures"
    )
    parser.add_argument(
        "--rules", action="store_true", help="list what breaks the rules"
    )
    options = parser.parse_args(arguments)
    if options.rules:
        broken = find_rules_broken(Tree(options.root.resolve()))
        if options.json:
            print(json.dumps(broken, indent=2))
        else:
            _print_lists(broken)
        return
    report = structure(options.root.resolve())
    if options.json:
        print(json.dumps(asdict(report), indent=2))
        return
    _print_table(report)
    if options.list:
        trips = {name: trip.modules for name, trip in report.trips.items()}
        _print_lists({**report.lists, **trips})


if __name__ == "__main__":
    main()
