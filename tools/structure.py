"""Report of the size of a checkout: files and lines of code by package.

``python tools/structure.py [ROOT]``. A line of code holds a token: comments,
docstrings, texts below fields and blank lines do not count, nor do the texts
of findings (``*texts.py``). Also printed: configuration keys that have a value
of their own in ``docs/configuration.schema.json``, words of documentation, and
private functions named once. Figures to read, not rules to assert.
"""

import argparse
import ast
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

AGENT = "agent/mirrorwatch/"
JOBS = "sparkjobs/"
TEXTS = "texts.py"  # also ``heartbeats_texts.py``
IGNORED = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def code_lines(source: str) -> int:
    """Count the lines of code of a Python source text."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in IGNORED:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            last = node.end_lineno or node.lineno
            found.difference_update(range(node.lineno, last + 1))
    return len(found)


def package_of(path: str) -> str:
    """Return the package of a file: ``domain/skips`` as far as two levels."""
    parts = path.split("/")
    if path.startswith(AGENT):
        inner = parts[2:-1]
        return "/".join(["mirrorwatch", *inner[:2]])
    return "/".join(parts[1:2]) if len(parts) > 2 else path


def once_called(source: str) -> tuple[int, int]:
    """Count private functions, and those named once outside themselves."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    names = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
    )
    private = [
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("_")
        and not node.name.endswith("__")
    ]
    return len(private), sum(names[name] == 1 for name in private)


def files(root: Path) -> Iterator[tuple[str, str]]:
    """Yield path and source of every Python file of product and tests."""
    for top in ("agent", "sparkjobs", "deploy", "tools", "tests"):
        for file in sorted((root / top).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            yield path, file.read_text(encoding="utf-8")


def keys(root: Path) -> int:
    """Count the leaf keys of the generated JSON Schema, once in each model."""
    file = root / "docs" / "configuration.schema.json"
    schema = json.loads(file.read_text(encoding="utf-8"))
    models = schema["$defs"]

    def is_block(key: object) -> bool:
        """Return whether the value of a key is a model, or holds some."""
        names = re.findall(r"#/\$defs/(\w+)", json.dumps(key))
        return any("properties" in models[name] for name in names)

    found = [schema, *models.values()]
    return sum(
        not is_block(key)
        for model in found
        for key in model.get("properties", {}).values()
    )


def words(root: Path) -> int:
    """Count the words of the documentation."""
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    return sum(len(p.read_text(encoding="utf-8").split()) for p in pages)


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=Path.cwd())
    root = parser.parse_args().root.resolve()
    lines: Counter[str] = Counter()
    number: Counter[str] = Counter()
    private = once = 0
    for path, source in files(root):
        count = 0 if path.endswith(TEXTS) else code_lines(source)
        kind = "tests" if path.startswith("tests/") else "product"
        groups = [kind]
        if path.startswith("tools/"):
            groups = ["tools"]
        elif kind == "product":
            groups.append(package_of(path))
            if path.startswith(AGENT):
                groups.append("agent")
            all_of_it, single = once_called(source)
            private, once = private + all_of_it, once + single
        for group in groups:
            lines[group] += count
            number[group] += 1
    totals = ("product", "agent", "tests", "tools")
    for group in (*totals, *sorted(lines.keys() - {*totals})):
        print(f"{lines[group]:8,} lines {number[group]:5,} files  {group}")
    print(f"{keys(root):8,} configuration keys")
    print(f"{words(root):8,} words of documentation")
    print(f"{once:8,} of {private:,} private functions named once")


if __name__ == "__main__":
    main()
