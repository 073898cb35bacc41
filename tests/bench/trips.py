"""How many files a reader opens to follow one subject through the agent.

A trip is a list of legs. A leg either starts at a definition and follows all
that it uses, directly or not, or it also has an end and follows only what
lies between the two. The files of a trip are those that define what its legs
pass through; packages that only pass names on are not counted. What one
thread leaves and another one takes up begins a new leg. A stop is where
roads to all subjects part: it is counted, and what it uses is not followed.

Each anchor is the end of a dotted name, such as ``judge_lag`` or
``figures.canary.figures``. Where a definition was renamed or moved, write
its new name behind the old one, parted by ``|``: the first that a tree has
counts, so trees of before and after are measured alike. An anchor that a
tree lacks, or has twice, leaves its trip without a figure, and says so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .references import References
from .source_tree import Definition

__all__ = ["TRIPS", "Crossing", "Leg", "Trip", "cross"]


@dataclass(frozen=True, slots=True)
class Leg:
    """One stretch of a trip."""

    start: str
    """Anchor of the first definition."""

    end: str | None = None
    """Anchor of the last one; `None` to follow everything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trip:
    """One subject, from where it comes in to where it leaves."""

    name: str
    legs: tuple[Leg, ...]
    stops: tuple[str, ...] = ()
    """Anchors behind which nothing is followed."""

    avoids: tuple[str, ...] = ()
    """Classes that implement what the trip calls by a protocol, and that it
    never reaches: a call by a protocol leads to every implementation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Crossing:
    """What a trip crosses in one tree."""

    modules: tuple[str, ...]
    """Sorted."""

    definitions: int
    """What is crossed in them. If this falls far more than the code that
    a change removed, the way was lost somewhere, and not shortened."""

    problems: tuple[str, ...]
    """Anchors that name nothing, or several definitions. If there are any,
    the rest is too small."""

    @property
    def files(self) -> int | None:
        """How many files are crossed; `None` if that is not known."""
        return None if self.problems else len(self.modules)


TRIPS = (
    Trip(
        name="a probe, from its sending to InfluxDB",
        legs=(
            Leg("Canary.step|CanaryWorker.step"),
            Leg("Pipeline.tick"),
            Leg("CanarySource.observe"),
            Leg(
                "figures.canary.figures|canary.metrics.figures"
                "|canary.metrics.samples"
            ),
            Leg("IsolatedSink.publish|QueuedSink.publish"),
            Leg("IsolatedSink.step|QueuedSink.step|DeliveryWorker.step"),
        ),
        # The first asks every source and sink, the other every subject.
        stops=("Pipeline.tick", "domain.samples.samples"),
        avoids=(
            "notify.receiver.Receiver|WebhookReceiver",
            "AppriseReceiver",
            "OtlpOutlet",
        ),
    ),
    Trip(
        name="an offset sync, from its topic to a notice",
        legs=(
            Leg("Tail.step|TailWorker.step"),
            Leg("SkipsWatch.take|SkipsWorker.take"),
            Leg("SkipsWatch.step|SkipsWorker.step"),
            Leg("SkipsWatch.observe|SkipsWorker.observe"),
            Leg("Pipeline.tick"),
            Leg("judge_skips|skips.check.judge"),
            Leg("NotifySink.publish"),
            Leg("Delivery.step|NoticeDelivery.step|DeliveryWorker.step"),
        ),
        stops=("Pipeline.tick",),
        # Other mirrors write no syncs, and a notice takes one of two ways.
        avoids=(
            "InfluxDbOutlet",
            "GroupMirror|MirrorWithoutTopics",
            "LinkedMirror|MirrorWithoutTopics",
            "ConnectMirror",
            "Mirus",
            "Replicator",
            "AppriseReceiver",
            "OtlpOutlet",
        ),
    ),
    Trip(
        name="a limit of the check lag, from YAML to its use",
        legs=(
            Leg("config.loading.load|config.base.load"),
            Leg(
                "cli.options.config_option",
                "config.limits.LagLimits|lag.check.LagLimits"
                "|config.limits.LimitsConfig",
            ),
            Leg(
                "cli.run.command",
                # What the configuration loads is now what the check takes.
                "config.root.Config.to_limits|checks.lag.LagLimits"
                "|lag.check.LagLimits",
            ),
            Leg("cli.run.command", "judge_lag|lag.check.judge"),
            Leg("judge_lag|lag.check.judge"),
        ),
        # They read the table of checks for its metrics, and judge nothing.
        stops=("domain.samples.samples",),
        avoids=("domain.samples",),
    ),
)
"""What is measured. Add new names here, and keep the old ones."""


def cross(trip: Trip, references: References) -> Crossing:
    """Return the modules that a trip crosses.

    Parameters
    ----------
    trip
        The trip.
    references
        What uses what in the tree.
    """
    problems: list[str] = []

    def find(anchor: str) -> set[Definition]:
        found = _find(anchor, references.uses)
        if len(found) == 1:
            return found
        which = ", ".join(sorted(map(str, found))) or "nothing"
        problem = f"anchor {anchor} names {which}"
        if problem not in problems:
            problems.append(problem)
        return set()

    stops = {d for anchor in trip.stops for d in find(anchor)}
    avoided = {
        definition
        for anchor in trip.avoids
        for definition in references.uses
        if any(f".{name}." in f".{definition}." for name in anchor.split("|"))
    }
    passed: set[Definition] = set()
    for leg in trip.legs:
        ahead = _follow(find(leg.start), references.uses, stops, avoided)
        if leg.end is not None:
            ahead &= _follow(find(leg.end), references.used_by, set(), avoided)
        passed |= ahead
    modules = tuple(sorted({definition.module for definition in passed}))
    return Crossing(
        modules=modules, definitions=len(passed), problems=tuple(problems)
    )


def _find(anchor: str, definitions: Iterable[Definition]) -> set[Definition]:
    """Return what the first name of an anchor that is known stands for."""
    for name in anchor.split("|"):
        found = {d for d in definitions if f".{d}".endswith(f".{name}")}
        if found:
            return found
    return set()


def _follow(
    starts: set[Definition],
    edges: Mapping[Definition, set[Definition]],
    stops: set[Definition],
    avoided: set[Definition],
) -> set[Definition]:
    found, waiting = set(starts), list(starts)
    while waiting:
        here = waiting.pop()
        if here not in stops:
            new = edges.get(here, set()) - found - avoided
            found |= new
            waiting += new
    return found
