"""Rules of the audit, broken one at a time, as a person might break them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from mirrorwatch_audit.compare import digests
from mirrorwatch_audit.digest import digest
from mirrorwatch_audit.drill import compacted, explain
from mirrorwatch_audit.store import carry

__all__ = ["MUTATIONS", "Mutation"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One rule, broken."""

    name: str
    kinds: tuple[str, ...]
    function: Callable[..., Any]
    old: str
    new: str

    @property
    def code(self) -> CodeType:
        """The changed function. Only its code: others hold the function."""
        text = inspect.getsource(self.function)
        assert text.count(self.old) == 1, "the rule is not there any more"
        text = inspect.cleandoc("\n" + text.replace(self.old, self.new))
        names: dict[str, Any] = {}
        exec(text, self.function.__globals__ | {}, names)  # noqa: S102
        changed = names[self.function.__name__]
        code: CodeType = changed.__code__
        return code


MUTATIONS = (
    Mutation(
        "a night that goes on is not known to begin exactly",
        ("equal", "constant"),
        carry.begun,
        "not pair.timestamps or _goes_on(pair, known)",
        "False",
    ),
    Mutation(
        "a late copy of what was told as lost is one too many",
        ("plain", "odd"),
        explain.explained_surplus,
        "remembered & ",
        "sf.lit(False) & ",
    ),
    Mutation(
        "whether timestamps are the target's is what its configuration says",
        ("stamped",),
        digest.stamped,
        '"appended > 0"',
        '"appended < 0"',
    ),
    Mutation(
        "a target without records in the range is believed to keep timestamps",
        ("stamped",),
        digests.timed_by_target,
        'where("appended")',
        'where("NOT appended")',
    ),
    Mutation(
        "a night without copies does as the target's configuration says",
        ("stamped",),
        digests.timed_by_target,
        "if name(p) in before",
        "if False",
    ),
    Mutation(
        "timestamps that no calendar has are not clamped",
        ("odd",),
        digest.to_time,
        "min(max(milliseconds, 0), to_millis(LATEST))",
        "milliseconds",
    ),
    Mutation(
        "both halves of a checksum are of the same fields",
        ("plain",),
        digest.hashed,
        "sf.xxhash64(second, *crcs)",
        "sf.xxhash64(second, *fields)",
    ),
    Mutation(
        "a tombstone that one side removed is a loss",
        ("compacted",),
        compacted._kind,  # noqa: SLF001 - it is broken, not used
        'sf.when(s["tombstone"], "compacted")\n        .when(',
        "sf.when(",
    ),
    Mutation(
        "a tombstone that the other side removed is an extra record",
        ("compacted",),
        compacted._kind,  # noqa: SLF001 - it is broken, not used
        't["tombstone"] | ',
        "",
    ),
)
