"""What users read is written in words that they can search for."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mirrorwatch.cli.root import main
from mirrorwatch.domain.catalogue import CATALOGUE

ROOT = Path(__file__).parent.parent
AGENT = ROOT / "agent" / "mirrorwatch"

BANNED = {
    r"(?<!in )\bplaces?\b": "position, offset",
    r"\b(un)?told\b|\btells?\b|\btelling\b": "report, show, log, notify",
    r"\bst(ands?|ood) (still|at)\b|\bstandstill\b": "stalled, stuck",
    r"\b(made|written|given out|begun|well) (again|anew)\b|\banew\b": (
        "recreated, duplicated, reassigned, restarted"
    ),
    r"\bfigures?\b": "metrics",
    r"\brestless\b|\bby turns\b": "flapping",
    r"\bwent by\b|\bpassed over\b|\bread past\b": "skipped, dropped, lost",
    r"\breckon\w*": "estimate, compute",
    r"\bc[ao]mes? round\b|\b(in a|of) circles?\b": "replication loop",
    r"\bdoubled\b": "duplicated",
    r"\bon (their|its|the) way\b": "in flight",
    r"\bnobody (can|knows|tells)\b|\bcannot be said\b": (
        "unknown, cannot be verified"
    ),
    r"\bmirror (goes|went) (on|back)\b": "resumes, continues, was rewound",
    r"\bhold notices\b|\bnotices are held\b": "silence, silenced",
    r"\bmend(s|ed)?\b": "fix, correct",
    r"\blooked? (at|for) (the )?(new )?topics\b|\bsurveyed\b": "topic refresh",
    r"\b(has|was|were) not (looked at|asked)\b": "not read yet",
    r"\bwithout rights?\b": "as a non-root user",
    r"\bcame to its end\b|\bcome to its end\b": "completed",
    r"\bkept its place\b|\blost its place\b": "continuous, reset",
    r"\blies beyond\b": "is beyond",
    r"\bdivided alike\b|\bconfigured alike\b": "same, matching",
}
"""What must not be read, and what is written instead."""

SENTENCES = (
    *("domain/*/check.py", "domain/*/metrics.py", "domain/lag/*.py"),
    *("domain/parity/*.py", "domain/canary/*.py", "domain/notices/*.py"),
    *("domain/checkpoints.py", "domain/heartbeats.py", "domain/latency.py"),
    *("domain/report.py", "domain/checks.py", "domain/samples.py"),
    *("domain/catalogue.py", "domain/audit/*.py"),
    *("domain/position/*.py", "domain/bottleneck/model.py"),
    *("domain/tasks/model.py", "domain/cause.py"),
    *("kafka/*.py", "sources/**/*.py", "mirrors/*.py", "state/database.py"),
    *("sinks/*.py", "audit/*.py", "web/*.py", "exceptions.py"),
    *("../mirrorwatch_alerting/*.py",),
)
"""Files with sentences that somebody reads."""

PAGES = sorted((ROOT / "docs").glob("*.md"))

STATIC = AGENT / "web" / "static"

TITLES = {"title", "description", "name", "label", "text"}
"""Keys of dashboards whose values are shown."""


def wrong(text: str) -> list[str]:
    """Return the banned words of a text, each with better ones."""
    plain = " ".join(text.split())
    found = []
    for pattern, better in BANNED.items():
        for match in re.finditer(pattern, plain, re.IGNORECASE):
            around = plain[max(match.start() - 30, 0) : match.end() + 30]
            found.append(f"...{around}...: say {better}")
    return found


@pytest.mark.parametrize(
    "text",
    [
        "The mirror kept its place",
        "x stands at offset 3",
        "Figures do not arrive",
        "two mirrors copy in a circle",
        "nobody can tell",
        "records on their way",
        "10 records were doubled",
        "a topic was made again",
    ],
)
def test_words_that_cannot_be_searched_for_are_found(text: str) -> None:
    assert wrong(text)


def test_reasons_help_and_alerts_have_words_that_can_be_searched_for() -> None:
    files = sorted({f for part in SENTENCES for f in AGENT.glob(part)})
    assert len(files) > 60
    found = [
        f"{file.name}: {problem}"
        for file in files
        for text in literals(file)
        for problem in wrong(text)
    ]
    assert found == []


def test_help_of_metrics_has_words_that_can_be_searched_for() -> None:
    found = [
        f"{metric.name}: {problem}"
        for metric in CATALOGUE
        for problem in wrong(metric.help)
    ]
    assert found == []


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name
)
def test_pages_have_words_that_can_be_searched_for(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"(?ms)^```.*?^```", "", text)
    # Names, and sentences of programs.
    assert wrong(re.sub(r"`[^`\n]+`", "", prose)) == []


def test_the_page_has_words_that_can_be_searched_for() -> None:
    found = []
    for file in [*STATIC.glob("js/*.js"), *STATIC.glob("*.html")]:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".js":
            text = re.sub(r"//.*|/\*.*?\*/", "", text, flags=re.DOTALL)
            shown = re.findall(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", text)
            shown = [part for part in shown if " " in part]
            shown = [re.sub(r"\$\{[^}]*\}", "…", part) for part in shown]
        else:
            shown = re.findall(r">([^<>]+)<", text)
            shown += re.findall(r"aria-label=\"([^\"]+)\"", text)
        found += [
            f"{file.name}: {problem}"
            for part in shown
            for problem in wrong(part)
        ]
    assert found == []


def test_panels_have_words_that_can_be_searched_for() -> None:
    found = {
        f"{file.name}: {problem}"
        for file in (ROOT / "dashboards").rglob("*.json")
        for text in titles(json.loads(file.read_text(encoding="utf-8")))
        for problem in wrong(text)
    }
    assert found == set()


def test_help_of_commands_has_words_that_can_be_searched_for() -> None:
    found = [
        f"{name}: {problem}"
        for name, text in helps(main, "mirrorwatch")
        for problem in wrong(text)
    ]
    assert found == []


def literals(file: Path) -> Iterator[str]:
    """Yield the texts of a module, but for docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    skipped = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = node.values
            skipped |= {id(piece) for piece in pieces}
            yield "".join(
                str(piece.value) if isinstance(piece, ast.Constant) else "…"
                for piece in pieces
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and id(node) not in skipped
            and not node.value.lstrip().startswith(SQL)
        ):
            yield node.value


SQL = ("CREATE ", "INSERT ", "SELECT ", "DELETE ", "UPDATE ")


def titles(board: object) -> Iterator[str]:
    """Yield what a dashboard shows in words."""
    if isinstance(board, dict):
        for key, value in board.items():
            if key in TITLES and isinstance(value, str):
                yield value
            yield from titles(value)
    elif isinstance(board, list):
        for item in board:
            yield from titles(item)


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Yield the help of a command, its options and its subcommands."""
    context = click.Context(command)
    yield name, command.help or ""
    for parameter in command.get_params(context):
        yield name, getattr(parameter, "help", None) or ""
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from helps(found, f"{name} {child}")
