"""Columns of a table, and names of lines where the store gives none."""

from collections.abc import Iterator
from string import ascii_uppercase

from grafana_foundation_sdk.models.dashboard import (
    DashboardFieldConfigSourceOverrides,
    DataTransformerConfig,
    DynamicConfigValue,
    MatcherConfig,
)

from ..panels import Panel, Picture
from .targets import Flux, Prometheus, Store

__all__ = ["overrides", "transformations"]

Override = DashboardFieldConfigSourceOverrides

DETAIL = "topic-detail"
"""Name of the dashboard of single topics."""


def transformations(
    panel: Panel, store: Store
) -> list[DataTransformerConfig] | None:
    """Return what makes one table of the answers to a panel's queries."""
    if panel.picture is not Picture.TABLE:
        return None
    names = {
        f"Value #{ref}" if isinstance(store, Prometheus) else field: label
        for ref, (field, label) in zip(
            ascii_uppercase, _columns(panel), strict=False
        )
    }
    organize = DataTransformerConfig(
        id_val="organize",
        options={"excludeByName": {"Time": True}, "renameByName": names},
    )
    # Prometheus answers each query with a table of its own.
    merge = DataTransformerConfig(id_val="merge", options={})
    return [merge, organize]


def overrides(panel: Panel, store: Store) -> list[Override]:
    """Return what holds for single columns, or lines, of a panel."""
    if panel.picture is Picture.TABLE:
        return list(_of_columns(panel, store))
    if isinstance(store, Flux):
        return list(_names(panel))
    return []


def _of_columns(panel: Panel, store: Store) -> Iterator[Override]:
    for query in panel.queries:
        if query.reading.metric.unit == "seconds":
            yield _for("byName", query.label, "unit", "s")
    if "topic" in panel.queries[0].reading.by:
        tag = store.name.removeprefix("grafana-")
        url = (
            f"/d/mirrorwatch-{DETAIL}-{tag}?var-topic=${{__value.raw}}"
            "&var-flow=${__data.fields.flow}&${__url_time_range}"
        )
        link = {"title": "Topic detail", "url": url}
        yield _for("byName", "topic", "links", [link])


def _names(panel: Panel) -> Iterator[Override]:
    """Yield names of lines: those of Flux are the names of its columns."""
    for ref, query in zip(ascii_uppercase, panel.queries, strict=False):
        labels = [f"${{__field.labels.{label}}}" for label in query.reading.by]
        name = " ".join(filter(None, [query.label, *labels]))
        yield _for("byFrameRefID", ref, "displayName", name)


def _columns(panel: Panel) -> Iterator[tuple[str, str]]:
    for query in panel.queries:
        yield query.reading.metric.field, query.label


def _for(matcher: str, what: str, key: str, value: object) -> Override:
    return Override(
        matcher=MatcherConfig(id_val=matcher, options=what),
        properties=[DynamicConfigValue(id_val=key, value=value)],
    )
