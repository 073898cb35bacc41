"""Which package may import which, and other rules that only rot unseen."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.bench.references import References
from tests.bench.source_tree import Module, Tree
from tests.bench.structure import find_rules_broken
from tests.bench.trips import TRIPS, cross

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
    "memory": set[str](),
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
    "influxdb_setup": {"config", "domain", "sinks", "state", "wiring"},
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

SHORT = {
    "mirrorwatch_dashboards/files.py": "tests write dashboards by it",
    "mirrorwatch_audit/connector.py": "a command of its own, for images",
}
"""Modules below 80 lines that only one sibling uses, and why they stand by
themselves; by the end of their path."""

SEAMS = {
    "ports.Mirror": "the second one is tests/examples/new_mirror_test.py",
    "ports.MirrorJmx": "the second one is tests/examples/new_mirror_test.py",
    "sources.connect.ConnectDecoder": "a mirror that does not run on Connect "
    "has none of it",
    "audit.offsets.MirrorFacts": "tests plan audits without a mirror",
    "sources.audit.worker.Trigger": "APScheduler has them",
    "records.Read": "tests read logs in memory",
    "nights.Runs": "tests keep runs in memory",
    "tools.Planner": "tests plan without clusters",
    "link.LinkEnd": "a class of asyncio's, which only has that name",
}
"""Protocols that fewer than two classes of the product implement, and why
they are there; by the end of their name."""

ROLES = {"__init__", "model", "tracker", "check", "metrics"}
"""Modules of a subject in the domain."""

BESIDE_ROLES = {
    "audit/facts": "what is read of both clusters to plan an audit",
    "audit/by_topic": "which offsets are compared where partitions are not "
    "kept",
    "audit/flow_result": "the model of results, which the check and the API "
    "read",
    "audit/history": "what is usual of a topic, by the nights before",
    "audit/nightly": "when the next audit is due",
    "audit/plan": "the document that goes to the job",
    "audit/ranges": "which offsets are compared",
    "audit/repair": "what is to be written again",
    "audit/result": "the document that the job writes",
    "audit/window": "the stretch of time that one audit compares",
    "canary/delivery": "which probes count for the service level",
    "failover/failback": "what the target lacks, for a failback",
    "failover/recovery": "what is lost with the source, beside the groups",
    "failover/translation": "where a group starts, for the check and the CLI",
    "skips/alignment": "from where on copies are of what a source holds that "
    "was truncated or recreated",
    "skips/balance": "skips of a mirror that writes no offset-syncs",
    "tasks/group": "the consumer group of a mirror, in place of its tasks",
    "lag/partition": "the lag of one partition",
    "lag/retention": "a check of its own, on the facts of lag",
    "lag/topic": "the lag of one topic, of all of its partitions",
    "notices/maintenance": "the report when maintenance is over",
    "notices/notifier": "the state machine of notices, which judge nothing",
    "notices/text": "a notice in words and as JSON",
    "parity/configs": "a check of its own: two checks compare two sides",
    "parity/topics": "a check of its own: two checks compare two sides",
    "position/growth": "records at the target that no commit follows",
    "position/internal_topics": "whether the mirror's own topics are there",
    "position/moves": "which moves of a position are resets",
    "position/out_of_range": "positions before a log's start, or past its end",
    "position/recreation": "clusters and topics that others replaced",
    "skips/partition": "the tracker of one partition",
    "skips/settle": "reads ranges that counts do not explain",
    "skips/unnamed": "copies and skipped records that cannot be matched",
}
"""Other modules of subjects, and what they are for."""

EVERYTHING = {file.stem for file in PACKAGE.iterdir()}
"""What a part without rules may import."""


@cache
def _checkout() -> Tree:
    return Tree(ROOT)


@cache
def _modules() -> dict[Path, Module]:
    return {module.file: module for module in _checkout().modules.values()}


def _source(file: Path) -> str:
    return _modules()[file].source


def _nodes(file: Path) -> tuple[ast.AST, ...]:
    return _modules()[file].nodes


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


@cache
def _broken(rule: str) -> dict[str, str]:
    """Return what breaks a rule of the structure: what by its name."""
    lines = _rules()[rule]
    return {name: line for line in lines for name in [line.split(": ")[0]]}


@cache
def _rules() -> dict[str, tuple[str, ...]]:
    return find_rules_broken(_checkout())


def test_names_of_public_classes_are_unique() -> None:
    twice = _broken("public class names that are not unique")
    assert twice == {}


def test_a_short_module_with_one_user_has_a_reason() -> None:
    short = _broken("short modules with a single sibling")
    assert [
        line
        for name, line in short.items()
        if not name.partition(" ")[0].endswith(tuple(SHORT))
    ] == []


def test_a_protocol_has_two_implementations_or_a_reason() -> None:
    few = _broken("protocols with fewer than two implementations")
    assert [
        line
        for name, line in few.items()
        if not name.endswith(tuple(f".{seam}" for seam in SEAMS))
    ] == []


MOST_FILES = {
    "a probe, from its sending to InfluxDB": 25,
    "an offset sync, from its topic to a notice": 41,
    "a limit of the check lag, from YAML to its use": 14,
}
"""Files that a reader opens on each trip: half of what it was once, two more
of service levels, which count probes, one of the login that librdkafka lacks,
one of ZooKeeper, one of what all mirrors on Kafka Connect share, two of
offsets that are not asked for by librdkafka's administrator, one of where
copies begin in logs that were truncated or recreated, and one of skipped
records that cannot be named."""


def test_trips_through_the_agent_stay_short() -> None:
    references = References(_checkout())
    crossed = {trip.name: cross(trip, references) for trip in TRIPS}
    assert [c.problems for c in crossed.values() if c.problems] == []
    assert {
        name: crossing.modules
        for name, crossing in crossed.items()
        if len(crossing.modules) > MOST_FILES[name]
    } == {}


def test_no_modules_import_each_other() -> None:
    assert _broken("circles of imports") == {}


def test_the_modules_of_a_subject_have_the_names_of_roles() -> None:
    subjects = [
        f
        for f in _files(PACKAGE / "domain")
        # A preset is named as its mirror.
        if f.parent.name not in {"domain", "mirror_presets"}
    ]
    others = {
        f"{file.parent.name}/{file.stem}"
        for file in subjects
        if file.stem not in ROLES
    }
    assert others == BESIDE_ROLES.keys()


def test_only_isolation_catches_every_exception_and_once() -> None:
    found = [
        _name(file)
        for file in _files()
        for node in _nodes(file)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or _names(node.type) & {"Exception"})
    ]
    assert found == ["isolation.py"]


def test_every_module_says_what_it_offers() -> None:
    silent = [
        _name(file)
        for file in _files()
        if any(
            isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Assign)
            for node in _modules()[file].syntax.body
        )
        and "__all__" not in _source(file)
    ]
    assert silent == []


def test_each_default_stands_once() -> None:
    """What a check has a default for, its configuration takes from there."""
    said = {
        (owner.removesuffix("Limits"), name): default
        for file in _files(PACKAGE / "domain")
        for owner, name, default in _defaults(file)
        if owner.endswith("Limits")
    }
    again = [
        f"{_name(file)}: {owner}.{name}"
        for file in _files(PACKAGE / "config")
        for owner, name, default in _defaults(file)
        if said.get((owner.removesuffix("Config"), name)) == default
        # Whether there is a canary at all is no limit.
        and name != "enabled"
    ]
    assert again == []


def test_limits_are_the_domains_own() -> None:
    elsewhere = [
        f"{_name(file)}: {owner.name}"
        for file in _files()
        if not _name(file).startswith("domain/")
        for owner in _classes(file)
        if owner.name.endswith("Limits")
    ]
    assert elsewhere == []


def _classes(file: Path) -> Iterator[ast.ClassDef]:
    for node in _nodes(file):
        if isinstance(node, ast.ClassDef):
            yield node


def _defaults(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield class, field and default of each field that has one."""
    for owner in _classes(file):
        for field in owner.body:
            if not isinstance(field, ast.AnnAssign) or field.value is None:
                continue
            default: ast.expr | None = field.value
            if isinstance(default, ast.Call) and ast.unparse(default.func) in {
                "Field",
                "field",
            }:
                named = {k.arg: k.value for k in default.keywords}
                default = (*default.args, named.get("default"))[0]
            if default is not None:
                name = ast.unparse(field.target)
                yield owner.name, name, ast.unparse(default)
