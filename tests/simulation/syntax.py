"""Changes to source code that are found in its syntax tree."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Change", "changes", "replace_once", "with_change"]

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True, slots=True)
class Change:
    """One node of a tree, and what takes its place."""

    function: str
    operator: str
    old: ast.AST
    new: ast.AST

    def __str__(self) -> str:
        old, new = ast.unparse(self.old), ast.unparse(self.new)
        return f"{self.function}: {self.operator}: {old} -> {new}"


class _Replacement(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._old:
            return self._new
        visited: ast.AST = self.generic_visit(node)
        return visited


def _parsed(text: str) -> ast.AST:
    """Return the only statement of a text, or the expression that it is."""
    (node,) = ast.parse(text).body
    return node.value if isinstance(node, ast.Expr) else node


def _replaced(tree: ast.Module, old: ast.AST, new: ast.AST) -> str:
    changed = _Replacement(old, new).visit(tree)
    return ast.unparse(ast.fix_missing_locations(changed))


def replace_once(source: str, old: str, new: str) -> str:
    """Replace an expression or a statement, however it is formatted.

    Raises
    ------
    ValueError
        Raised if it is not there exactly once.
    """
    tree, wanted = ast.parse(source), _parsed(old)
    found = [
        node
        for node in ast.walk(tree)
        if type(node) is type(wanted) and ast.dump(node) == ast.dump(wanted)
    ]
    if len(found) != 1:
        raise ValueError(f"{old!r} is there {len(found)} times")
    return _replaced(tree, found[0], _parsed(new))


def changes(tree: ast.Module) -> list[Change]:
    """Return what the classic operators of mutation make of a module."""
    return [
        Change(name, operator, node, new)
        for name, function in _functions(tree)
        for node in _code(function)
        for operator, new in _variants(node)
    ]


def with_change(source: str, index: int) -> str:
    """Return a source with one of its changes."""
    tree = ast.parse(source)
    change = changes(tree)[index]
    return _replaced(tree, change.old, change.new)


def _functions(
    tree: ast.Module,
) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    yield f"{node.name}.{each.name}", each


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, but for text."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.JoinedStr):
            yield child
            yield from _code(child)


def _variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(left, [op], right) if type(op) in COMPARED:
            yield "compare", ast.Compare(left, [COMPARED[type(op)]()], right)
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and/or", ast.BoolOp(other, values)
        case ast.UnaryOp(ast.Not(), operand):
            yield "not", operand
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            opposite = ast.Sub() if isinstance(sign, ast.Add) else ast.Add()
            yield "plus/minus", ast.BinOp(left, opposite, right)
        case ast.Constant(bool() | int() as value):
            other_value = not value if isinstance(value, bool) else value + 1
            yield "constant", ast.Constant(other_value)
        case ast.Call(ast.Name("min" | "max"), [first, second], []):
            yield "argument", first
            yield "argument", second
        case ast.AugAssign() | ast.Expr(ast.Call()):
            yield "statement", ast.Pass()
        case ast.IfExp(test, body, orelse):
            yield "if", ast.IfExp(test, orelse, body)
        case _:
            pass
