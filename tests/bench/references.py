"""Which definition uses which, by reading the code: calls, mostly.

The type of an expression is worked out from annotations, constructors and
return types, as far as that goes; a method of an object whose type is not
known is found by its name, if only one class that the module can reach has
it. What a `Protocol` declares leads to every class that has all of it.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .source_tree import FUNCTION, Definition, Tree

__all__ = ["References"]

Types = tuple[Definition, ...]
"""Classes that a value may be of; of a container, those of its items."""

COMMON = {
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float)
    for name in dir(kind)
}
"""Methods of Python's own types: their names say nothing of the class."""

SAME_ITEMS = {"dict", "enumerate", "filter", "frozenset", "iter", "list"}
SAME_ITEMS |= {"max", "min", "next", "replace", "reversed", "set", "sorted"}
SAME_ITEMS |= {"tuple", "zip"}
"""Functions that return what they are given, or its items."""

GET_ITEMS = {"copy", "get", "items", "pop", "popleft", "setdefault", "values"}
"""Methods that return items of their container."""

IMPLICIT = {"__init__", "__post_init__", "__enter__", "__exit__", "__iter__"}
"""Methods that run where only their class is named."""


@dataclass
class Scope:
    """Where an expression stands."""

    module: str
    owner: Definition | None = None
    """Class whose method it stands in."""

    variables: dict[str, Types] = field(default_factory=dict)
    """Parameters and local variables, with their types."""


class References:
    """The definitions that each definition uses.

    Parameters
    ----------
    tree
        What to read.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._fields: dict[Definition, dict[str, Types]] = {}
        self._under_way: set[int] = set()
        self._reachable: dict[str, set[str]] = {}
        self._implementations: dict[Definition, Types] = {}
        self._classes_by_method: dict[str, list[Definition]] = {}
        for owner, members in tree.members.items():
            for name, member in members.items():
                if isinstance(member, FUNCTION):
                    having = self._classes_by_method.setdefault(name, [])
                    having.append(owner)

    @cached_property
    def uses(self) -> dict[Definition, set[Definition]]:
        """By definition: the definitions that its code names."""
        return {
            definition: self._used_by(definition, statement)
            for definition, statement in self._tree.definitions.items()
        }

    @cached_property
    def used_by(self) -> dict[Definition, set[Definition]]:
        """By definition: the definitions whose code names it."""
        found: dict[Definition, set[Definition]] = {}
        for user, used in self.uses.items():
            for definition in used:
                found.setdefault(definition, set()).add(user)
        return found

    @cached_property
    def protocols(self) -> list[Definition]:
        """Every class that is a `Protocol`."""
        return [
            owner
            for owner in self._tree.members
            if any(
                ast.unparse(base).partition("[")[0].endswith("Protocol")
                for base in _class(self._tree.definitions[owner]).bases
            )
        ]

    def lineage(self, owner: Definition) -> list[Definition]:
        """Return a class and its bases, as far as the tree defines them."""
        found = [owner]
        for each in found:
            for base in _class(self._tree.definitions[each]).bases:
                plain = base.value if isinstance(base, ast.Subscript) else base
                above = self._tree.name_of(each.module, plain)
                if above in self._tree.members and above not in found:
                    found.append(above)
        return found

    def methods(self, owner: Definition) -> list[str]:
        """Return the methods of a class and of its bases."""
        return [
            name
            for each in self.lineage(owner)
            for name, member in self._tree.members[each].items()
            if isinstance(member, FUNCTION)
        ]

    def implementations(self, owner: Definition) -> Types:
        """Return the classes that inherit from one, or have all it declares.

        Parameters
        ----------
        owner
            A class; only of a `Protocol` declarations alone are enough.
        """
        if owner not in self._implementations:
            self._implementations[owner] = tuple(
                other
                for other in self._tree.members
                if other != owner
                and other not in self.protocols
                and (
                    owner in self.lineage(other)
                    or (owner in self.protocols and self._fits(owner, other))
                )
            )
        return self._implementations[owner]

    def _fits(self, protocol: Definition, other: Definition) -> bool:
        declared = {
            name: member
            for each in self.lineage(protocol)
            for name, member in self._tree.members[each].items()
        }
        return bool(declared) and all(
            (found := self._member(other, name)) is not None
            and _same_parameters(member, found[1])
            for name, member in declared.items()
        )

    def _member(
        self, owner: Definition, name: str
    ) -> tuple[Definition, ast.stmt | None] | None:
        """Return who has a member, and its statement in the class's body."""
        for each in self.lineage(owner):
            if name in self._tree.members[each]:
                return each, self._tree.members[each][name]
            if name in self._assigned(each):
                return each, None
        return None

    def _assigned(self, owner: Definition) -> Mapping[str, Types]:
        """Return the fields that methods assign to ``self``, with types."""
        if owner in self._fields:
            return self._fields[owner]
        found = self._fields[owner] = {}
        for member in self._tree.members[owner].values():
            if not isinstance(member, FUNCTION):
                continue
            scope = self._open(member, owner.module, owner)
            for target, value, annotation in _assignments(member):
                match target:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name):
                        types = self._annotated(owner.module, annotation)
                        types = types or self._types(value, scope)
                        found[name] = found.get(name) or types
                    case _:
                        pass
        return found

    def _used_by(
        self, definition: Definition, statement: ast.stmt
    ) -> set[Definition]:
        found: set[Definition] = set()
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                name, _, inner = definition.path.partition(".")
                own = Definition(definition.module, name) if inner else None
                scope = self._open(statement, definition.module, own)
                self._bind_variables(statement, scope)
                parts = [*statement.decorator_list, *statement.body]
            case ast.ClassDef():
                scope = Scope(definition.module)
                parts = [
                    *(*statement.bases, *statement.decorator_list),
                    *(s for s in statement.body if not _is_function(s)),
                ]
                found = {
                    Definition(definition.module, f"{statement.name}.{m.name}")
                    for m in statement.body
                    if isinstance(m, FUNCTION) and _runs_by_itself(m)
                }
            case _:
                scope = Scope(definition.module)
                parts = [statement]
        for part in parts:
            for node in ast.walk(part):
                if isinstance(node, ast.expr):
                    found.update(self._named(node, scope))
        return found - {definition}

    def _open(
        self,
        function: ast.FunctionDef | ast.AsyncFunctionDef,
        module: str,
        owner: Definition | None,
    ) -> Scope:
        """Return the scope of a function, with its parameters."""
        scope = Scope(module, owner)
        for parameter in _parameters(function):
            types = self._annotated(module, parameter.annotation)
            scope.variables[parameter.arg] = types
        first = next(iter(_parameters(function)), None)
        if owner and first is not None and first.arg in {"self", "cls"}:
            scope.variables[first.arg] = (owner,)
        return scope

    def _bind_variables(self, function: ast.stmt, scope: Scope) -> None:
        """Add local variables; twice, as loops name later ones."""
        variables = scope.variables
        for _ in range(2):
            for target, value, annotation in _assignments(function):
                if isinstance(target, ast.Name):
                    types = self._annotated(scope.module, annotation)
                    types = types or self._types(value, scope)
                    known = variables.get(target.id, ())
                    variables[target.id] = _joined([known, types])

    def _annotated(
        self, module: str, annotation: ast.expr | None, depth: int = 0
    ) -> Types:
        """Return every class that an annotation names."""
        match annotation:
            case None:
                return ()
            case ast.Constant(value=str(text)):
                inner = ast.parse(text, mode="eval").body
                return self._annotated(module, inner, depth)
            case ast.Name() | ast.Attribute():
                return self._class_or_alias(module, annotation, depth)
            case ast.Subscript(value=ast.Name(id="Callable")):
                return ()  # an object of none of these classes
            case _:
                pass
        return _joined(
            self._annotated(module, node, depth)
            for node in ast.iter_child_nodes(annotation)
            if isinstance(node, ast.expr)
        )

    def _class_or_alias(
        self, module: str, node: ast.expr, depth: int
    ) -> Types:
        found = self._tree.name_of(module, node)
        if found is None or found in self._tree.members:
            return () if found is None else (found,)
        match self._tree.definitions.get(found):
            case ast.Assign(value=value) if depth < 5:
                return self._annotated(found.module, value, depth + 1)
            case _:
                return ()

    def _types(self, node: ast.expr | None, scope: Scope) -> Types:
        """Return the classes that an expression may be of."""
        if node is None or id(node) in self._under_way:
            return ()
        self._under_way.add(id(node))
        try:
            match node:
                case ast.Name():
                    return self._types_of_name(node, scope)
                case ast.Attribute():
                    return self._types_of_attribute(node, scope)
                case ast.Call():
                    return self._types_of_call(node, scope)
                case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                    return self._types(node.elt, scope)
                case _:
                    parts = _value_parts(node)
                    return _joined(self._types(p, scope) for p in parts)
        finally:
            self._under_way.discard(id(node))

    def _types_of_name(self, node: ast.Name, scope: Scope) -> Types:
        if node.id in scope.variables:
            return scope.variables[node.id]
        found = self._tree.resolve(scope.module, node.id)
        if found is None:
            return ()
        match self._tree.definitions.get(found):
            case ast.AnnAssign(annotation=annotation):
                return self._annotated(found.module, annotation)
            case ast.Assign(value=value):
                return self._types(value, Scope(found.module))
            case _:
                return ()

    def _types_of_attribute(self, node: ast.Attribute, scope: Scope) -> Types:
        found = []
        for owner in self._types(node.value, scope):
            having = self._member(owner, node.attr)
            match having:
                case (each, ast.AnnAssign(annotation=annotation)):
                    found.append(self._annotated(each.module, annotation))
                case (each, ast.FunctionDef() as method) if any(
                    ast.unparse(d).endswith("property")
                    for d in method.decorator_list
                ):
                    found.append(self._annotated(each.module, method.returns))
                case (each, None):
                    found.append(self._assigned(each).get(node.attr, ()))
                case _:
                    pass
        return _joined(found)

    def _types_of_call(self, node: ast.Call, scope: Scope) -> Types:
        found: list[Types] = []
        for called in self._named(node.func, scope):
            statement = self._tree.definitions.get(called)
            if isinstance(statement, ast.ClassDef):
                found.append((called,))
            elif isinstance(statement, FUNCTION):
                returns = statement.returns
                types = self._annotated(called.module, returns)
                if isinstance(returns, ast.Name) and returns.id == "Self":
                    name = called.path.partition(".")[0]
                    types = (Definition(called.module, name),)
                found.append(types)
        types = _joined(found)
        return types or self._types_passed_on(node, scope)

    def _types_passed_on(self, node: ast.Call, scope: Scope) -> Types:
        """Return the types of what a call is given, or takes out."""
        match node.func:
            case ast.Name(id=name) if name in SAME_ITEMS:
                return _joined(self._types(a, scope) for a in node.args)
            case ast.Attribute(value=value, attr=name):
                types = self._types(value, scope)
                having = {t for t in types if self._member(t, name)}
                if name in GET_ITEMS or having:
                    # What a generic class holds, as ``Latest[Survey]``.
                    return tuple(t for t in types if t not in having)
                return ()
            case ast.Subscript():
                return self._annotated(scope.module, node.func)
            case _:
                return ()

    def _named(self, node: ast.expr, scope: Scope) -> Types:
        """Return the definitions that a name or an attribute stands for."""
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                if name in scope.variables:
                    return ()
                found = self._tree.resolve(scope.module, name)
                return (found,) if found in self._tree.definitions else ()
            case ast.Attribute(ctx=ast.Load()):
                return self._named_by_attribute(node, scope)
            case _:
                return ()

    def _named_by_attribute(self, node: ast.Attribute, scope: Scope) -> Types:
        first = node.value
        local = isinstance(first, ast.Name) and first.id in scope.variables
        if not local:
            found = self._tree.name_of(scope.module, node)
            if found in self._tree.definitions:
                return (found,)
        owners = self._types(first, scope)
        if not local and isinstance(first, ast.Name | ast.Attribute):
            named = self._tree.name_of(scope.module, first)
            if named in self._tree.members:
                owners = (named,)
        if scope.owner is not None and _is_super(first):
            owners = tuple(self.lineage(scope.owner)[1:])
        if not owners:
            return self._only_class_with(node.attr, scope.module)
        return _joined(
            (Definition(having[0].module, f"{having[0].path}.{node.attr}"),)
            for owner in owners
            for each in (owner, *self.implementations(owner))
            if (having := self._member(each, node.attr)) is not None
            and isinstance(having[1], FUNCTION)
        )

    def _only_class_with(self, method: str, module: str) -> Types:
        """Return a method by its name alone, if there is no other."""
        if method in COMMON:
            return ()
        if module not in self._reachable:
            self._reachable[module] = self._tree.reachable(module)
        having = [
            owner
            for owner in self._classes_by_method.get(method, ())
            if owner.module in self._reachable[module]
        ]
        if len(having) != 1:
            return ()
        return (Definition(having[0].module, f"{having[0].path}.{method}"),)


def _class(statement: ast.stmt) -> ast.ClassDef:
    if not isinstance(statement, ast.ClassDef):
        raise TypeError(f"No class: {ast.unparse(statement)[:40]}")
    return statement


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super"


def _is_function(statement: ast.stmt) -> bool:
    return isinstance(statement, FUNCTION)


def _runs_by_itself(
    method: ast.FunctionDef | ast.AsyncFunctionDef,
) -> bool:
    """Whether a method runs although nobody names it."""
    return method.name in IMPLICIT or any(
        "validator" in name or "serializer" in name
        for name in map(ast.unparse, method.decorator_list)
    )


def _parameters(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[ast.arg]:
    a = function.args
    yield from (*a.posonlyargs, *a.args, *a.kwonlyargs)
    yield from filter(None, (a.vararg, a.kwarg))


def _same_parameters(declared: ast.stmt, found: ast.stmt | None) -> bool:
    """Whether a method can be called as a protocol declares it."""
    if not isinstance(declared, FUNCTION) or not isinstance(found, FUNCTION):
        # A field may hold a function, and a property be a field.
        return True
    names = [p.arg for p in _parameters(declared)]
    return [p.arg for p in _parameters(found)][: len(names)] == names


def _assignments(
    function: ast.stmt,
) -> Iterator[tuple[ast.expr, ast.expr | None, ast.expr | None]]:
    """Yield targets with their values and annotations.

    The value of the target of a loop is what the loop runs over.
    """
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _unpacked(target, value)
            case ast.AnnAssign(target=target):
                yield target, node.value, node.annotation
            case ast.NamedExpr(target=target, value=value):
                yield target, value, None
            case ast.For(target=target) | ast.comprehension(target=target):
                yield from _unpacked(target, node.iter)
            case ast.withitem(optional_vars=ast.expr() as target):
                yield target, node.context_expr, None
            case _:
                pass


def _unpacked(
    target: ast.expr, value: ast.expr
) -> Iterator[tuple[ast.expr, ast.expr, None]]:
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value, None
        return
    values = [value] * len(target.elts)
    if isinstance(value, ast.Tuple | ast.List):
        values = value.elts if len(value.elts) == len(values) else values
    for each, its in zip(target.elts, values, strict=True):
        yield from _unpacked(each, its)


def _value_parts(node: ast.expr) -> Iterable[ast.expr | None]:
    """Return the parts of an expression that give it its type."""
    match node:
        case (
            ast.Subscript(value=value)
            | ast.Starred(value=value)
            | ast.NamedExpr(value=value)
            | ast.DictComp(value=value)
        ):
            return [value]
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.BoolOp(values=values) | ast.Dict(values=values):
            return values
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return items
        case _:
            return []


def _joined(types: Iterable[Types]) -> Types:
    return tuple(dict.fromkeys(each for some in types for each in some))
