"""How long until records that were not copied are lost."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from ..topic_configs import FOR_EVER, TopicConfigs
from .observation import Headroom
from .track import Track

__all__ = ["find_headroom"]


def find_headroom(
    configs: TopicConfigs | None,
    *,
    age: float,
    tracks: Mapping[int, Track],
    starts: Mapping[int, int],
    rate: float,
) -> Headroom | None:
    """Return what is left before records are lost, by time or by size.

    Parameters
    ----------
    configs
        How the source topic is configured; `None` if that is not known.
    age
        Age in seconds of the oldest record not yet copied, 0 if none waits.
    tracks
        Its partitions.
    starts
        Their log starts.
    rate
        Records a second written to the topic.
    """
    if configs is None or not configs.deletes:
        return None
    found = [*_by_time(configs, age), *_by_size(configs, tracks, starts, rate)]
    return min(found, key=lambda h: h.remaining, default=None)


def _by_time(configs: TopicConfigs, age: float) -> Iterator[Headroom]:
    if configs.retention_ms in (None, FOR_EVER):
        return
    kept = configs.retention_ms / 1000
    left = max(0.0, kept - age)
    yield Headroom(
        remaining=timedelta(seconds=left), share=left / kept if kept else 0.0
    )


def _by_size(
    configs: TopicConfigs,
    tracks: Mapping[int, Track],
    starts: Mapping[int, int],
    rate: float,
) -> Iterator[Headroom]:
    """Yield estimates: no broker tells sizes to everyone, but a log that was
    shortened before keeps about as many records as it does now.
    """
    if configs.retention_bytes in (None, FOR_EVER) or rate <= 0:
        return
    each = rate / max(1, len(tracks))
    for partition, track in tracks.items():
        start = starts.get(partition, 0)
        if start > 0 and track.end > start:
            left = max(0, track.next_offset - start)
            yield Headroom(
                remaining=timedelta(seconds=left / each),
                share=left / (track.end - start),
                estimated=True,
            )
