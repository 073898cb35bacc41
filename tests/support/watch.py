"""An agent that watches a lab, and the plain truth to hold it to."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import structlog

from mirrorwatch.cli.demo import describe_agent
from mirrorwatch.clock import utc_now
from mirrorwatch.config import Config
from mirrorwatch.daemon import Agent, Daemon
from mirrorwatch.domain.canary import Ledger, Message
from mirrorwatch.domain.observations import CanaryObservation, canaries
from mirrorwatch.domain.verdicts import Health, Verdict
from mirrorwatch.factory import build_agent
from mirrorwatch.lab import CANARY_TOPIC, Lab
from mirrorwatch.sources.canary import Headers, no_headers
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore

__all__ = ["FLOW", "Truth", "Watch", "describe", "wait_until"]

FLOW = "summit->ldf"


def wait_until(
    condition: Callable[[], bool],
    *,
    within: float,
    what: Callable[[], object] = lambda: "",
) -> float:
    """Wait for a condition; return how many seconds it took."""
    start = time.monotonic()
    while not condition():
        passed = time.monotonic() - start
        assert passed < within, f"not within {within} s: {what()}"
        time.sleep(0.05)  # between looks; the deadline decides
    return time.monotonic() - start


def describe(
    lab: Lab, *, canary: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the demo's configuration with some of the canary replaced."""
    data = describe_agent(lab)
    (flow,) = data["flows"]
    flow["canary"].update(canary or {})
    return data


class Watch(AbstractContextManager["Watch"]):
    """An agent in this process, watching a lab."""

    def __init__(
        self,
        lab: Lab,
        *,
        state: Path | None = None,
        headers: Headers = no_headers,
        canary: Mapping[str, Any] | None = None,
        flow: Mapping[str, Any] | None = None,
        interval: str = "1s",
        sized_interval: timedelta | None = None,
    ) -> None:
        data = describe(
            lab,
            canary={"interval": "500ms", "deadline": "10s", **(canary or {})},
        )
        data["flows"][0].update(flow or {})
        data["interval"] = interval
        self.config = Config.from_mapping(data)
        if sized_interval is not None:
            self.config = _hurry(self.config, sized_interval)
        self.lab = lab
        self._state = state
        self._headers = headers
        self.ledgers: dict[int, Ledger] = {}

    def __enter__(self) -> Self:
        self.database = Database(self._state)
        logger = structlog.get_logger("mirrorwatch")
        self.agent: Agent = build_agent(
            self.config,
            database=self.database,
            clock=utc_now,
            logger=logger,
            headers=self._headers,
        )
        self._daemon = Daemon(self.agent, clock=utc_now, logger=logger)
        self._daemon.__enter__()
        self.store = CanaryStore(self.database, FLOW)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the agent; its books can be read afterwards."""
        if not self.ledgers:
            self._daemon.stop_working()
            self.ledgers = self.store.load()
            self.losses = self.store.losses()
            self._daemon.__exit__(None, None, None)

    @property
    def url(self) -> str:
        assert self.agent.server is not None
        return self.agent.server.url

    @property
    def canary(self) -> CanaryObservation | None:
        report = self.agent.board.report
        seen = canaries(report.observations) if report else ()
        return seen[0] if seen else None

    @property
    def counts(self) -> Counter[str]:
        totals: Counter[str] = Counter()
        for partition in self.canary.partitions if self.canary else ():
            totals.update(partition.counts.as_dict())
            totals["outstanding"] += partition.outstanding
        return totals

    def verdict(self, check: str = "canary") -> Verdict | None:
        report = self.agent.board.report
        found = (
            [v for v in report.verdicts if v.check == check] if report else []
        )
        return found[0] if found else None

    def wait_for(
        self, health: Health, *, within: float, saying: str = ""
    ) -> float:
        """Wait for the canary's verdict; return how long it took."""

        def is_so() -> bool:
            verdict = self.verdict()
            judged = verdict is not None and verdict.health is health
            return judged and self.says(saying)

        return wait_until(is_so, within=within, what=self.verdict)

    def says(self, text: str) -> bool:
        """Tell whether the canary's verdict says something anywhere."""
        verdict = self.verdict()
        if verdict is None:
            return False
        said = [verdict.reason, *map(str, verdict.evidence.values())]
        return any(text in sentence for sentence in said)

    def let_pass(self, seconds: float) -> None:
        """Wait until the agent has reported for this long."""
        until = utc_now() + timedelta(seconds=seconds)

        def has_passed() -> bool:
            report = self.agent.board.report
            return report is not None and report.at >= until

        wait_until(has_passed, within=seconds + 60)

    def wait_for_count(self, name: str, least: int, *, within: float) -> float:
        return wait_until(
            lambda: self.counts[name] >= least,
            within=within,
            what=lambda: (self.counts, self.verdict()),
        )


class Truth:
    """What is in both canary topics, by a plain reader.

    Records that are deleted later are remembered from an earlier look.
    """

    def __init__(
        self,
        lab: Lab,
        topic: str = CANARY_TOPIC,
        decode: Callable[[bytes | None], Message | None] = Message.decode,
    ) -> None:
        self._lab = lab
        self._topic = topic
        self._decode = decode
        self.written: dict[tuple[str, int], set[int]] = {}

    def look(self) -> None:
        """Remember what the source holds now."""
        for record in self._lab.read("source", self._topic):
            probe = self._decode(record.value())
            assert probe is not None
            key = (probe.run, probe.partition)
            self.written.setdefault(key, set()).add(probe.sequence)

    def check(self, watch: Watch, *, undecided: bool = False) -> Counter[str]:
        """Hold an agent's books to the truth; return the true totals.

        Parameters
        ----------
        watch
            The agent.
        undecided
            Whether it may call probes unverifiable: where records were
            deleted while it did not know yet whether a send had been taken.
        """
        self.look()
        run, totals = watch.store.run, Counter[str]()
        copies: dict[int, list[int]] = {}
        remote = self._lab.target_name(self._topic)
        for record in self._lab.read("target", remote):
            probe = self._decode(record.value())
            offset = record.offset()
            assert probe is not None
            assert offset is not None
            ledger = watch.ledgers.get(probe.partition)
            if probe.run == run and ledger and offset < ledger.next_offset:
                copies.setdefault(probe.partition, []).append(probe.sequence)
        for partition, ledger in watch.ledgers.items():
            written = self.written.get((run, partition), set())
            self._check(ledger, written, copies.get(partition, []), totals)
            assert undecided or not ledger.unverifiable
        return totals

    def _check(
        self,
        ledger: Ledger,
        written: set[int],
        copies: list[int],
        totals: Counter[str],
    ) -> None:
        arrived, counts = set(copies), ledger.counts
        under_way = set(ledger.outstanding)
        missing = written - arrived - under_way
        assert _members(ledger.arrived) == arrived
        assert _members(ledger.lost) == missing
        assert not _members(ledger.failed) & written
        assert counts.duplicates == len(copies) - len(arrived)
        assert counts.lost - counts.recovered == len(missing)
        assert counts.delivered + counts.late + counts.recovered == len(
            arrived
        )
        unverifiable = _members(ledger.unverifiable)
        assert not unverifiable & (written | arrived)
        assert set(range(1, ledger.next_sequence)) == (
            arrived
            | missing
            | under_way
            | unverifiable
            | _members(ledger.failed)
        )
        totals.update(
            sent=ledger.next_sequence - 1,
            arrived=len(arrived),
            lost=len(missing),
            duplicates=len(copies) - len(arrived),
            failed=counts.failed,
            late=counts.late,
            recovered=counts.recovered,
            indeterminate=counts.indeterminate,
            outstanding=len(under_way),
        )


def _hurry(config: Config, interval: timedelta) -> Config:
    """Send large probes more often than the configuration would allow."""
    (flow,) = config.flows
    assert flow.canary.sized is not None
    sized = flow.canary.sized.model_copy(update={"interval": interval})
    canary = flow.canary.model_copy(update={"sized": sized})
    flows = (flow.model_copy(update={"canary": canary}),)
    return config.model_copy(update={"flows": flows})


def _members(ranges: Any) -> set[int]:
    return {n for first, last in ranges for n in range(first, last + 1)}
