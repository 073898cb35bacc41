"""Reads the Python files of a checkout, without importing any of them.

Every figure of `tests.bench.structure` is computed from this, so that two
trees whose folders and names differ are measured in the same way.
"""

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

__all__ = ["FUNCTION", "Definition", "Module", "Tree", "code_lines"]

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
"""What defines a function."""

TESTS = "tests"
"""Folder of the tests, which are counted apart."""

SILENT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
"""Tokens that make no line a line of code."""


class Definition(NamedTuple):
    """Where a name is defined; a module itself has an empty path."""

    module: str
    """Dotted name of the module."""

    path: str
    """``function``, ``Class`` or ``Class.method``."""

    def __str__(self) -> str:
        return f"{self.module}.{self.path}".removesuffix(".")


class Import(NamedTuple):
    """One name that a module imports."""

    bound: str
    """Name in the module that imports it."""

    module: str
    """Module that it is imported from."""

    name: str | None
    """Name in that module; `None` if the module itself is imported."""


@dataclass(frozen=True, eq=False)
class Module:
    """One Python file."""

    name: str
    """Dotted name."""

    file: Path
    source: str
    syntax: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__.py`` of a package."""
        return self.file.name == "__init__.py"

    @property
    def length(self) -> int:
        """Lines of the file, with comments, docstrings and blanks."""
        return len(self.source.splitlines())

    @cached_property
    def lines(self) -> int:
        """Lines of code."""
        return code_lines(self.source, self.syntax)

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Everything it imports, also inside functions."""
        return tuple(self._imports())

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the syntax tree."""
        return tuple(ast.walk(self.syntax))

    def _imports(self) -> Iterator[Import]:
        package = self.name.split(".")
        if not self.is_package:
            package.pop()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    module = alias.name if alias.asname else top
                    yield Import(alias.asname or top, module, None)
                    if module != alias.name:
                        yield Import("", alias.name, None)
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) + 1 - node.level]
                parents = above if node.level else []
                module = ".".join([*parents, *filter(None, [node.module])])
                for alias in node.names:
                    yield Import(
                        alias.asname or alias.name, module, alias.name
                    )


class Tree:
    """Every module of a checkout, and what its names stand for.

    Parameters
    ----------
    root
        Folder of the checkout or git worktree.

    Raises
    ------
    ValueError
        Raised if two files would be imported by the same name.

    Notes
    -----
    Source folders are all folders at the top that hold Python packages or
    modules, such as ``agent`` and ``sparkjobs``, but for hidden ones and the
    tests. A folder at the top that is a package itself is one, too.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules: dict[str, Module] = {}
        """By dotted name."""

        for module in _read_modules(root):
            other = self.modules.setdefault(module.name, module)
            if other is not module:
                raise ValueError(f"{other.file} and {module.file} clash")
        self.definitions: dict[Definition, ast.stmt] = {}
        """Functions, classes, methods and variables at the top."""

        self.members: dict[Definition, dict[str, ast.stmt]] = {}
        """By class: its methods and the fields that its body declares."""

        self._imported = {
            module.name: {i.bound: i for i in module.imports}
            for module in self.modules.values()
        }
        for module in self.modules.values():
            for statement in module.syntax.body:
                self._define(module.name, statement)

    @cached_property
    def tests(self) -> list[Module]:
        """Every module of the tests."""
        return [
            _read(file, file.relative_to(self.root), self.root)
            for file in sorted((self.root / TESTS).rglob("*.py"))
        ]

    def place(self, module: Module) -> str:
        """Return where a module is, seen from the root."""
        return module.file.relative_to(self.root).as_posix()

    def resolve(self, module: str, name: str) -> Definition | None:
        """Return what a name of a module stands for.

        Names that packages pass on are followed to their definition. `None`
        stands for a name from outside of the tree.
        """
        passed: set[tuple[str, str]] = set()
        while (module, name) not in passed:
            passed.add((module, name))
            here = Definition(module, name)
            if here in self.definitions:
                return here
            found = self._imported.get(module, {}).get(name)
            if found is None or found.name is None:
                inner = f"{module}.{name}" if found is None else found.module
                return Definition(inner, "") if inner in self.modules else None
            module, name = found.module, found.name
        # ``from . import x`` in a package: its own module x.
        inner = f"{module}.{name}"
        return Definition(inner, "") if inner in self.modules else None

    def name_of(self, module: str, node: ast.expr) -> Definition | None:
        """Return what ``a`` or ``a.b`` stands for in a module."""
        if isinstance(node, ast.Name):
            return self.resolve(module, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.name_of(module, node.value)
            if owner is not None and not owner.path:
                return self.resolve(owner.module, node.attr)
        return None

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """By module: the modules that its import statements name."""
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for name, module in self.modules.items():
            for i in module.imports:
                target = self._imported_module(i)
                if target is not None and target != name:
                    found[name].add(target)
        return found

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """By module: who uses its names.

        A package that only passes names on is no user; those who take them
        from the package are users of the module that defines them.
        """
        found: dict[str, set[str]] = {name: set() for name in self.modules}
        for name, module in self.modules.items():
            if module.is_package and _only_imports(module):
                continue
            for i in module.imports:
                target = self.resolve(name, i.bound) if i.bound else None
                used = target.module if target else self._imported_module(i)
                if used is not None and used != name:
                    found[used].add(name)
        return found

    def reachable(self, start: str) -> set[str]:
        """Return a module, and all that it imports, directly or not."""
        found, waiting = {start}, [start]
        while waiting:
            new = self.imports[waiting.pop()] - found
            found |= new
            waiting += new
        return found

    def _imported_module(self, i: Import) -> str | None:
        inner = f"{i.module}.{i.name}" if i.name is not None else i.module
        if inner in self.modules:
            return inner
        return i.module if i.module in self.modules else None

    def _define(self, module: str, statement: ast.stmt) -> None:
        for name in _defined(statement):
            self.definitions.setdefault(Definition(module, name), statement)
        if not isinstance(statement, ast.ClassDef):
            return
        own = Definition(module, statement.name)
        members = self.members.setdefault(own, {})
        for inner in statement.body:
            for name in _defined(inner):
                members.setdefault(name, inner)
                if isinstance(inner, FUNCTION):
                    path = f"{statement.name}.{name}"
                    self.definitions[Definition(module, path)] = inner


def code_lines(source: str, syntax: ast.Module) -> int:
    """Return the lines of code, without comments, docstrings and blanks.

    Parameters
    ----------
    source
        Text of a Python file.
    syntax
        The same, parsed.
    """
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(syntax):
        # Also texts below fields: they document, and do nothing.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if not isinstance(node.value.value, str):
                continue  # an ellipsis is the body of a function
            last = node.end_lineno or node.lineno
            found.difference_update(range(node.lineno, last + 1))
    return len(found)


def _read_modules(root: Path) -> Iterator[Module]:
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if folder.name.startswith(".") or folder.name == TESTS:
            continue
        base = root if (folder / "__init__.py").exists() else folder
        for file in sorted(folder.rglob("*.py")):
            inner = file.relative_to(folder).parts
            if not any(part.startswith(".") for part in inner):
                yield _read(file, file.relative_to(base), root)


def _read(file: Path, path: Path, root: Path) -> Module:
    parts: Sequence[str] = path.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    source = file.read_text(encoding="utf-8")
    syntax = ast.parse(source, str(file.relative_to(root)))
    return Module(".".join(parts), file, source, syntax)


def _defined(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Assign(targets=targets):
            for target in targets:
                for node in ast.walk(target):
                    if isinstance(node, ast.Name):
                        yield node.id
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass


def _only_imports(module: Module) -> bool:
    """Whether a module defines nothing but a docstring and ``__all__``."""
    return all(
        isinstance(statement, ast.Import | ast.ImportFrom | ast.Expr)
        or "__all__" in ast.unparse(statement).partition("=")[0]
        for statement in module.syntax.body
    )
