"""What each check must and may say during a fault, and how it is graded.

Pure: times are seconds since the start of the run.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from .schedule import Kind

__all__ = ["LOST_SECONDS", "MAY", "MUST", "WARNED_SECONDS", "Claim"]
__all__ += ["FalseAlarm", "Injection", "Look", "Must", "Report", "Saying"]
__all__ += ["false_alarms", "reports", "table", "to_sayings", "unhealed"]
__all__ += ["wrong_claims"]

TICK_SECONDS = 1.5
"""Between two reports, and the time to read one."""

LOST_SECONDS = 45
"""How long a loss stays critical, as the agent is configured."""

WARNED_SECONDS = 20
"""How long what lost nothing stays at warning."""

HEAL_SECONDS = 180
"""Longest from the repair until all is ok: what is said of a loss, and time
for the mirror's tasks to be started again."""

LATENCY_SECONDS = 300

SLACK_SECONDS = 60
"""How long after a repair its effects may be found: the mirror writes a sync
for each hundredth record, and drains what has waited."""

BOTTLENECKS = frozenset(
    f"bottleneck.{name}"
    for name in (
        "commits",
        "consumer",
        "link",
        "producer",
        "refused",
        "silent",
        "throttled",
        "too-large",
    )
)

RECORDS = frozenset(
    {
        "canary.lost",
        "lag.never-copied",
        "position.expired-unread",
        "position.recreated",
        "position.target-recreated",
        "position.truncated",
        "position.unverifiable",
        "retention.expiring",
        "skips.dropped",
        "skips.foreign-producer",
        "skips.unverifiable",
    }
)
"""Codes that are about records, and are explained by no other topic's
fault."""

COUNTS = ("records", "records_at_most", "offsets")
"""Numbers of a finding that count what is lost; several add up."""

_SLOW = BOTTLENECKS | {"latency.high", "lag.falling-behind"}
_AWAY = _SLOW | {
    *("canary.overdue", "canary.late", "lag.stopped", "lag.stalled"),
    *("heartbeats.missing", "heartbeats.late"),
}
_RESTARTED = _AWAY | {
    *("tasks.idle", "tasks.failed"),
    *("canary.duplicated", "skips.duplicated", "position.rewound"),
}
_BLIND = _SLOW | {"canary.late", "canary.failed"}
_EXPIRED = _RESTARTED | {
    *("position.expired-unread", "retention.expiring"),
    *("configs.differ",),
}

MAY: Mapping[Kind, frozenset[str]] = {
    Kind.KILL_MIRROR: _RESTARTED,
    Kind.FREEZE_MIRROR: _RESTARTED,
    # In good order: it commits what it copied, and repeats nothing.
    Kind.STOP_MIRROR: _AWAY | {"tasks.idle"},
    Kind.KILL_SOURCE: _RESTARTED | _BLIND,
    Kind.FREEZE_SOURCE: _RESTARTED | _BLIND,
    # A batch that the target took, and did not acknowledge, is sent again.
    Kind.KILL_TARGET: _RESTARTED | _BLIND,
    Kind.FREEZE_TARGET: _RESTARTED | _BLIND,
    Kind.CUT_MIRROR: _AWAY | {"tasks.failed"},
    Kind.STALL_MIRROR: _AWAY | {"tasks.failed"},
    Kind.CUT_AGENT: _BLIND,
    Kind.STALL_AGENT: _BLIND,
    Kind.KILL_INFLUX: frozenset({"sink.down"}),
    Kind.FREEZE_INFLUX: frozenset({"sink.down"}),
    # Nothing is wrong, and nobody may say so; arrivals are read later.
    Kind.KILL_AGENT: frozenset({"latency.high"}),
    Kind.FREEZE_AGENT: frozenset({"latency.high", "canary.late"}),
    Kind.EXPIRE: _EXPIRED,
    Kind.DELETE: _EXPIRED,
    Kind.LOSE_PROBES: _EXPIRED | {"canary.lost"},
    Kind.RECREATE_SHORTER: _RESTARTED
    | {"position.recreated", "position.truncated"},
    Kind.RECREATE_LONGER: _RESTARTED
    | {"position.recreated", "position.truncated"},
    Kind.RECREATE_TARGET: _RESTARTED | {"position.target-recreated"},
    Kind.GROW: _SLOW,
    Kind.CREATE: _SLOW,
    Kind.DROP: frozenset({"skips.dropped"}),
    Kind.DROP_TAIL: frozenset({"skips.dropped", "lag.stalled"}),
}
"""Codes of the warning and critical findings that each fault explains."""

LINGER: Mapping[str, float] = {
    "latency.high": LATENCY_SECONDS + SLACK_SECONDS,
    **dict.fromkeys(
        ("canary.late", "canary.duplicated", "canary.failed"),
        SLACK_SECONDS + WARNED_SECONDS,
    ),
    **dict.fromkeys(
        ("skips.duplicated", "position.rewound"),
        SLACK_SECONDS + WARNED_SECONDS,
    ),
    **dict.fromkeys(
        (
            "canary.lost",
            "skips.dropped",
            "position.expired-unread",
            "position.recreated",
            "position.target-recreated",
        ),
        SLACK_SECONDS + LOST_SECONDS,
    ),
    # The maximum of a minute, and an average of as long.
    **dict.fromkeys(BOTTLENECKS, SLACK_SECONDS + 60),
}
"""How long after a repair it may be found; else `SLACK_SECONDS`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Must:
    """What a fault must bring a check to say."""

    any_of: frozenset[str]
    within: float
    """Seconds, while the agent can see."""

    after_repair: bool = False
    stays: bool = False
    """Whether it is said after the fault, too, however short that was."""


def _must(*names: str, within: float, **more: bool) -> Must:
    return Must(any_of=frozenset(names), within=within, **more)


_OVERDUE = _must("canary.overdue", within=17)
_STOPPED = _must("lag.stopped", "lag.stalled", within=24)
_UNSEEN = _must("canary.overdue", "canary.unknown", within=18)
_BLINDED = _must("canary.unknown", within=18)
_DOWN = _must("sink.down", within=20)
# Log starts are read every 30 s.
_GONE = _must("position.expired-unread", within=36, stays=True)

MUST: Mapping[Kind, tuple[Must, ...]] = {
    # A probe is overdue after 10 s; a position stalled for two flushes of 5 s,
    # counted from the flush that it missed.
    Kind.KILL_MIRROR: (_OVERDUE, _STOPPED),
    Kind.FREEZE_MIRROR: (_OVERDUE, _STOPPED),
    Kind.STOP_MIRROR: (_OVERDUE, _STOPPED),
    Kind.CUT_MIRROR: (_OVERDUE, _STOPPED),
    Kind.STALL_MIRROR: (_OVERDUE, _STOPPED),
    Kind.KILL_SOURCE: (_UNSEEN,),
    Kind.FREEZE_SOURCE: (_UNSEEN,),
    Kind.KILL_TARGET: (_UNSEEN,),
    Kind.FREEZE_TARGET: (_UNSEEN,),
    Kind.CUT_AGENT: (_BLINDED,),
    Kind.STALL_AGENT: (_BLINDED,),
    Kind.KILL_INFLUX: (_DOWN,),
    Kind.FREEZE_INFLUX: (_DOWN,),
    Kind.KILL_AGENT: (),
    Kind.FREEZE_AGENT: (),
    Kind.EXPIRE: (_GONE,),
    Kind.DELETE: (_GONE,),
    Kind.LOSE_PROBES: (
        _GONE,
        _must("canary.lost", within=60, after_repair=True, stays=True),
    ),
    Kind.RECREATE_SHORTER: (
        _must("position.recreated", within=30, stays=True),
    ),
    Kind.RECREATE_LONGER: (
        _must("position.recreated", within=30, stays=True),
    ),
    Kind.RECREATE_TARGET: (
        _must("position.target-recreated", within=30, stays=True),
    ),
    Kind.GROW: (),
    Kind.CREATE: (),
    Kind.DROP: (_must("skips.dropped", within=20, stays=True),),
    Kind.DROP_TAIL: (
        _must("lag.stalled", within=45),
        _must("skips.dropped", within=20, after_repair=True, stays=True),
    ),
}
"""What must be said of each fault, and how soon."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Saying:
    """One finding of `/api/status`, or that a whole check is unknown."""

    name: str
    health: str
    title: str = ""
    topic: str | None = None
    count: int | None = None
    """Records, where it counts them."""

    resumes: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What the agent said of itself at one moment."""

    at: float
    tick: str | None
    """When the report was made, as it says; `None` if it did not answer."""

    healths: Mapping[str, str] = field(default_factory=dict)
    sayings: tuple[Saying, ...] = ()


@dataclass(kw_only=True)
class Claim:
    """A count that was said, beside the true one."""

    what: str
    said: int | None
    """The last that was said."""

    true: int
    most: int | None = None
    """The most that was ever said, if that was more."""


@dataclass(kw_only=True)
class Injection:
    """One fault that was injected."""

    number: int
    kind: Kind
    began: float
    topics: frozenset[str] = frozenset()
    due: float | None = None
    """When that happened of which checks are to speak; `None` if it is when
    the fault began."""

    gone: int = 0
    ended: float | None = None
    healed: float | None = None
    restarted: float | None = None
    """When an operator had restarted a mirror that did not recover."""

    claims: list[Claim] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Whether something that must be said was said."""

    injection: Injection
    must: Must
    seconds: float | None
    """After how many seconds; without those in which the agent could not see,
    if it was too late with them."""

    waived: bool = False

    @property
    def late(self) -> bool:
        too_late = self.seconds is None or self.seconds > self.must.within
        return too_late and not self.waived

    @property
    def check(self) -> str:
        return " or ".join(sorted(self.must.any_of))


@dataclass(frozen=True, kw_only=True, slots=True)
class FalseAlarm:
    """Something that no fault explains, from its first look to its last."""

    saying: Saying
    first: float
    last: float


def to_sayings(
    check: str, health: str, findings: Sequence[Mapping[str, Any]]
) -> Iterator[Saying]:
    """Yield what a verdict says.

    Parameters
    ----------
    check
        Name of the check.
    health
        Health of the verdict.
    findings
        Its findings, as `/api/status` gives them.
    """
    if health == "unknown":
        yield Saying(
            name=f"{check}.unknown",
            health=health,
            title=findings[0]["title"],
        )
    for finding in findings:
        if finding["health"] in {"warning", "critical"}:
            numbers = finding["numbers"]
            counts = [numbers[name] for name in COUNTS if numbers.get(name)]
            resets = numbers.get("resets", 0)
            yield Saying(
                name=finding["code"],
                health=finding["health"],
                title=finding["title"],
                topic=finding["subject"].get("topic"),
                count=sum(counts) if counts else None,
                resumes=numbers.get("open_resets", resets) < resets,
            )


def false_alarms(
    injections: Sequence[Injection], looks: Iterable[Look]
) -> list[FalseAlarm]:
    """Return every warning or critical finding that nothing explains."""
    found: dict[tuple[str, str | None], FalseAlarm] = {}
    closed: list[FalseAlarm] = []
    for look in looks:
        said = {
            (s.name, s.topic): s
            for s in look.sayings
            if s.health in {"warning", "critical"}
            and not any(_explains(i, s, look.at) for i in injections)
        }
        if look.tick is None:
            continue
        over = [key for key in found if key not in said]
        closed += [found.pop(key) for key in over]
        for key, saying in said.items():
            known = found.get(key)
            found[key] = FalseAlarm(
                saying=known.saying if known else saying,
                first=known.first if known else look.at,
                last=look.at,
            )
    return sorted([*closed, *found.values()], key=lambda alarm: alarm.first)


def _explains(injection: Injection, saying: Saying, at: float) -> bool:
    may = MAY[injection.kind]
    if injection.restarted is not None:
        may |= _RESTARTED
    if saying.name not in may or at < injection.began:
        return False
    about_records = saying.name in RECORDS and saying.topic is not None
    if about_records and saying.topic not in injection.topics:
        return False
    if injection.ended is None:
        return True
    repaired = max(injection.ended, injection.restarted or 0.0)
    return at <= repaired + LINGER.get(saying.name, SLACK_SECONDS)


PAUSING = frozenset({Kind.KILL_AGENT, Kind.FREEZE_AGENT})

BLINDING = PAUSING | {Kind.CUT_AGENT, Kind.STALL_AGENT}

SIGHT_SECONDS = 12
"""How long it takes to see again: clients connect, internal topics are read,
and what is judged by its age was seen for the first time."""


def reports(
    injections: Sequence[Injection], looks: Sequence[Look]
) -> list[Report]:
    """Return, for all that must be said, when it was."""
    return [
        _report(injection, must, injections, looks)
        for injection in injections
        for must in MUST[injection.kind]
    ]


def _report(
    injection: Injection,
    must: Must,
    injections: Sequence[Injection],
    looks: Sequence[Look],
) -> Report:
    begin = injection.due or injection.began
    if must.after_repair and injection.ended is not None:
        begin = injection.ended
    blind = [
        other.ended + SIGHT_SECONDS
        for other in injections
        if other is not injection
        and other.kind in (PAUSING if injection.kind in BLINDING else BLINDING)
        and other.ended is not None
        and other.began <= begin + must.within
        and other.ended + SIGHT_SECONDS > begin
    ]
    sees = max([begin, *blind])
    said = next(
        (
            look.at
            for look in looks
            if look.at >= begin
            and (not must.stays or look.at <= sees + HEAL_SECONDS)
            and any(
                s.name in must.any_of and _is_about(s, injection)
                for s in look.sayings
            )
            and (must.stays or _lasts(injection, look.at))
        ),
        None,
    )
    waived = not must.stays and not _lasts(injection, sees + must.within)
    seconds = None if said is None else said - begin
    if seconds is not None and seconds > must.within:
        seconds = max(0.0, seconds - (sees - begin))
    return Report(
        injection=injection,
        must=must,
        seconds=seconds,
        waived=waived and said is None,
    )


def _lasts(injection: Injection, at: float) -> bool:
    return injection.ended is None or at <= injection.ended + 1


def _is_about(saying: Saying, injection: Injection) -> bool:
    if saying.topic is None or saying.name not in RECORDS:
        return True
    return saying.topic in injection.topics


def counts_said(
    looks: Iterable[Look], name: str, topics: Container[str | None]
) -> list[int]:
    """Return what each look that spoke of topics counted in all.

    Parameters
    ----------
    looks
        Looks since the fault began.
    name
        Code of the findings.
    topics
        Topics that they are about.

    Notes
    -----
    The mirror may resume on one partition a tick before the others. What is
    over for longer than `LOST_SECONDS` is not reported, so the count falls
    partition by partition at the end: that is not looked at.
    """
    counts: list[int] = []
    over: float | None = None
    for look in looks:
        found = [
            saying
            for saying in look.sayings
            if saying.name == name and saying.topic in topics
        ]
        if over is None and any(s.resumes for s in found):
            over = look.at + LOST_SECONDS - TICK_SECONDS
        if over is not None and look.at > over:
            break
        if found:
            counts.append(sum(saying.count or 0 for saying in found))
    return counts


def wrong_claims(injections: Iterable[Injection]) -> list[str]:
    """Return every count that was not the true one, in sentences."""
    found = []
    for injection in injections:
        for claim in injection.claims:
            name = f"{injection.number} {injection.kind}: {claim.what}"
            if claim.said != claim.true:
                found.append(f"{name}: said {claim.said}, true {claim.true}")
            elif claim.most is not None and claim.most > claim.true:
                found.append(
                    f"{name}: said {claim.most} for a while, true {claim.true}"
                )
    return found


def unhealed(injections: Iterable[Injection]) -> list[str]:
    """Return every fault after which not all was ok in time."""
    found = []
    for injection in injections:
        name = f"{injection.number} {injection.kind}"
        if injection.ended is None:
            found.append(f"{name}: never repaired")
        elif injection.healed is None:
            found.append(f"{name}: never all ok")
        elif injection.healed - injection.ended > HEAL_SECONDS:
            seconds = injection.healed - injection.ended
            found.append(f"{name}: all ok after {seconds:.0f} s")
    return found


def table(
    injections: Sequence[Injection], looks: Sequence[Look]
) -> Iterator[str]:
    """Yield the result, a line for each kind and what must be said of it."""
    graded = reports(injections, looks)
    yield (
        f"{'fault':31}{'n':>3}  {'must be told by':34}{'told':>7}"
        f"{'median':>8}{'max':>7}  {'said/true':>12}{'healed':>14}"
    )
    for kind in Kind:
        mine = [i for i in injections if i.kind is kind]
        if not mine:
            yield f"{kind:31}  0"
            continue
        claims = [c for i in mine for c in i.claims]
        counts = (
            f"{sum(c.said or 0 for c in claims)}/{sum(c.true for c in claims)}"
            if claims
            else "-"
        )
        healed = [
            i.healed - i.ended
            for i in mine
            if i.healed is not None and i.ended is not None
        ]
        heals = (
            f"{median(healed):.0f}/{max(healed):.0f} s" if healed else "never"
        )
        rows = MUST[kind] or (None,)
        for row, must in enumerate(rows):
            those = [
                r
                for r in graded
                if r.injection.kind is kind and r.must is must
            ]
            due = [r for r in those if not r.waived]
            seconds = [r.seconds for r in due if r.seconds is not None]
            names = " or ".join(sorted(must.any_of)) if must else "nobody"
            told = f"{len(seconds)}/{len(due)}" if must else "-"
            middle = f"{median(seconds):.1f}" if seconds else "-"
            longest = f"{max(seconds):.1f}" if seconds else "-"
            head = f"{kind:31}{len(mine):>3}" if row == 0 else " " * 34
            tail = f"{counts:>12}{heals:>14}" if row == 0 else ""
            yield (
                f"{head}  {names:34}{told:>7}{middle:>8}{longest:>7}  {tail}"
            ).rstrip()
