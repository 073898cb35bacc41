"""What Chronograf stores of a dashboard, in its own words.

Notes
-----
There is no library for it. The source is the server's own (chronograf.go,
server/cells.go and server/templates.go of 1.10), which refuses little: the
types here are all that it, and its page, understand.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ["Axis", "Cell", "Colour", "Dashboard", "DecimalPlaces"]
__all__ += ["FieldOption", "Query", "TableOptions", "Template"]
__all__ += ["TemplateQuery", "TemplateValue", "plain"]


def plain(text: str) -> str:
    """Return a note without apostrophes: they would come back as HTML."""
    return text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


class _Stored(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
    )


class Axis(_Stored):
    """One axis; that of `y` gives a single number its suffix."""

    bounds: tuple[str, str] = ("", "")
    label: str = ""
    prefix: str = ""
    suffix: str = ""
    base: Literal["10", "2", "raw"] = "10"
    scale: Literal["linear", "log"] = "linear"


class Colour(_Stored):
    """From which value on something has a colour."""

    id: str
    type: Literal["background", "scale", "text", "threshold"]
    hex: str = Field(pattern="^#[0-9a-f]{6}$")
    name: str
    value: str


class Query(_Stored):
    """A query; without a source it goes to the one that is looked at."""

    query: str
    source: Literal[""] = ""
    type: Literal["influxql"] = "influxql"


class FieldOption(_Stored):
    """How a column of a table is called, and whether it is there."""

    internal_name: str
    display_name: str = ""
    visible: bool = True


class TableOptions(_Stored):
    """How a table is drawn."""

    vertical_time_axis: bool = True
    sort_by: FieldOption = FieldOption(internal_name="time")
    wrapping: Literal["truncate", "wrap"] = "truncate"
    fix_first_column: bool = False


class DecimalPlaces(_Stored):
    """How exactly a number is written."""

    is_enforced: bool = True
    digits: int = 2


class Cell(_Stored):
    """A panel."""

    i: str
    x: int
    y: int
    w: int
    h: int
    name: str
    type: Literal[
        "bar", "line", "line-stepplot", "note", "single-stat", "table"
    ]
    queries: tuple[Query, ...] = ()
    axes: dict[Literal["x", "y", "y2"], Axis]
    colors: tuple[Colour, ...] = ()
    legend: dict[str, str] = {}
    table_options: TableOptions = TableOptions()
    field_options: tuple[FieldOption, ...] = (
        FieldOption(internal_name="time", visible=False),
    )
    time_format: str = "YYYY-MM-DD HH:mm:ss"
    decimal_places: DecimalPlaces = DecimalPlaces()

    note: str = Field("", pattern="^[^<>&'\"]*$")
    """The server turns what may be HTML into something else."""

    note_visibility: Literal["default", "showWhenNoData"] = "default"


class TemplateValue(_Stored):
    """A value that a variable can have."""

    value: str
    type: Literal["constant", "tagValue"]
    selected: bool = True


class TemplateQuery(_Stored):
    """Where the values of a variable come from."""

    influxql: str
    db: str
    measurement: str
    tag_key: str
    field_key: str = ""


class Template(_Stored):
    """A variable, chosen at the top."""

    id: str
    temp_var: str = Field(pattern="^:[a-z]+:$")
    type: Literal["tagValues", "text"]
    label: str = ""
    values: tuple[TemplateValue, ...] = ()
    query: TemplateQuery | None = None
    source_id: Literal["dynamic"] = Field("dynamic", alias="sourceID")


class Dashboard(_Stored):
    """A dashboard."""

    id: str = Field(pattern=r"^\d+$")
    name: str
    organization: Literal["default"] = "default"
    cells: tuple[Cell, ...]
    templates: tuple[Template, ...]
