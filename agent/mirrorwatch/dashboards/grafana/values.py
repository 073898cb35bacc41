"""Words and colours of a panel's values, and of there being none."""

from collections.abc import Iterator, Mapping

from grafana_foundation_sdk.models.dashboard import (
    DashboardSpecialValueMapOptions,
    FieldColor,
    FieldColorModeId,
    SpecialValueMap,
    SpecialValueMatch,
    Threshold,
    ThresholdsConfig,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)

from ...domain.verdicts import Health
from ..colours import COLOURS
from ..panels import Panel, Picture, Unit

__all__ = ["NO_DATA", "colour", "mappings", "thresholds"]

NO_DATA = "no data"

WORDS: Mapping[Unit, Mapping[int, tuple[str, str | None]]] = {
    Unit.HEALTH: {h.value: (h.label, COLOURS[h]) for h in Health},
    Unit.FLAG: {0: ("no", None), 1: ("yes", None)},
}
"""Words, and colours if they do not come from limits."""


def mappings(panel: Panel) -> Iterator[ValueMap | SpecialValueMap]:
    """Yield words for values.

    Notes
    -----
    A number that is none gets the colour of the first limit from Grafana:
    green, for most. So it is given a colour of its own.
    """
    if panel.unit in WORDS:
        yield ValueMap(
            options={
                str(value): ValueMappingResult(
                    text=text, color=painted, index=n
                )
                for n, (value, (text, painted)) in enumerate(
                    WORDS[panel.unit].items()
                )
            }
        )
    if panel.picture is Picture.NUMBER:
        yield SpecialValueMap(
            DashboardSpecialValueMapOptions(
                match=SpecialValueMatch.NULL_AND_NAN,
                result=ValueMappingResult(
                    text=NO_DATA, color=COLOURS[Health.OFF]
                ),
            )
        )


def thresholds(panel: Panel) -> ThresholdsConfig:
    """Return from which values on colours hold."""
    # Without limits nothing is good or bad.
    steps = [Threshold(value=None, color="text")]
    if panel.limits is not None:
        steps = [
            Threshold(value=at, color=COLOURS[health])
            for at, health in panel.steps
        ]
    return ThresholdsConfig(mode=ThresholdsMode.ABSOLUTE, steps=steps)


def colour(panel: Panel) -> FieldColor:
    """Return where colours come from."""
    if panel.picture in (Picture.LINES, Picture.BARS):
        return FieldColor(mode=FieldColorModeId.PALETTE_CLASSIC)
    return FieldColor(mode=FieldColorModeId.THRESHOLDS)
