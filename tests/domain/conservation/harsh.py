"""A world where more goes wrong while the books are kept."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mirrorwatch.domain.skips.matching import RangeContent
from mirrorwatch.domain.skips.model import RangeRequest
from tests.domain.conservation.mirror import KEY, MARK
from tests.domain.conservation.world import World

__all__ = ["AlikeWorld", "AlteredWorld", "HarshWorld"]


@dataclass
class HarshWorld(World):
    """Retries, records out of order, and logs that shrink while read."""

    gone_here: set[int] = field(default_factory=set)
    """Target offsets that compaction emptied."""

    start_here: int = 0
    """Log start of the target."""

    incarnation: int = 2
    """Of the topic that was made last."""

    meanwhile: list[Callable[[], None]] = field(default_factory=list)
    """What happens before the next answer."""

    def recreate_source(self) -> None:
        self.incarnation += 1
        super().recreate_source()
        self.ids = f"s{self.incarnation}", self.ids[1]

    def recreate_target(self) -> None:
        self.incarnation += 1
        super().recreate_target()
        self.ids = self.ids[0], f"t{self.incarnation}"

    def retry(self) -> None:
        """A copy is written twice: the answer to the first try was lost."""
        writer = self.writers[0]
        before = writer.at
        self._move(writer, keep=False)
        up = writer.at - 1
        if writer.at == before or self.source[up] in {MARK, None}:
            return
        self.target += [up, up]
        self.to_commit = writer.at
        if writer.is_due(up, len(self.target) - 1):
            self._tell(up, len(self.target) - 1)

    def remove_here(self) -> None:
        """Compaction takes a copy away."""
        for down in range(self.start_here, len(self.target)):
            if down not in self.gone_here:
                self.gone_here.add(down)
                self.target_compacted = True
                return

    def remove_last_here(self) -> None:
        """Compaction takes one of the newest copies away."""
        if len(self.target) > self.start_here + 1:
            self.gone_here.add(len(self.target) - 2)
            self.target_compacted = True

    def expire_here(self) -> None:
        """Retention takes the oldest copy."""
        self.start_here = min(self.start_here + 1, len(self.target))

    def expire_meanwhile(self) -> None:
        """Retention takes records of both sides just before an answer."""
        self.meanwhile += [self.expire, self.expire, self.expire_here]

    def restart_late(self) -> None:
        """The agent dies, and only the newest pair is left of those told."""
        self.told = self.told[-1:]
        self.restart()

    def read(self, inquiry: RangeRequest) -> RangeContent | None:
        for happens in self.meanwhile:
            happens()
        self.meanwhile = []
        reading = super().read(inquiry)
        if reading is None:
            return None
        return replace(
            reading,
            target={
                down: look
                for down, look in reading.target.items()
                if down not in self.gone_here and down >= self.start_here
            },
            target_start=self.start_here,
        )


@dataclass
class AlikeWorld(World):
    """Few records differ, as where the target sets timestamps itself."""

    looks: list[int] = field(default_factory=list)
    """Of the records of the source, whatever became of them."""

    def write(self) -> None:
        look = 1000 + len(self.source) * len(self.source) % 7 % 3
        self.source.append(look)
        self.looks = [*self.looks, look]

    def mark(self) -> None:
        super().mark()
        self.looks = [*self.looks, MARK]

    def check(self) -> None:
        """No more is told to be missing than there is, as far as is told."""
        booked = set(self.target[: self.books.epochs[KEY].downstream + 1])
        missing = {
            n
            for n in range(self.start, self.passed)
            if self.source[n] not in {MARK, None} and n not in booked
        }
        assert self.tally.skipped - self.tally.recovered <= len(missing)

    def _look_of(self, down: int) -> int:
        up = self.target[down]
        return super()._look_of(down) if up is None else self.looks[up]


@dataclass
class AlteredWorld(AlikeWorld):
    """The mirror alters what it copies: no copy looks like its record."""

    def _look_of(self, down: int) -> int:
        return -100 - super()._look_of(down)
