"""Which settings of Kapacitor name something of a site."""

from enum import Enum, auto

from .flux import rewrite_flux
from .hiding import SECRET
from .influxql import rewrite_influxql
from .rewriter import Rewriter
from .values import Kind

__all__ = ["Slot", "Slots", "fill", "find_slot", "slots_of"]


class Slot(Enum):
    """How a text is read that is not one value of a `Kind`."""

    INFLUXQL = auto()
    """A query in InfluxQL."""

    FLUX = auto()
    """A query in Flux."""

    PROSE = auto()
    """A text for people: only addresses in it change."""

    NAME = auto()
    """The name of a measurement or an alert topic: its prefix changes."""

    TEXT = auto()
    """Any other text: a value that is compared, such as a tag's."""


Slots = tuple[Kind | Slot, ...]
"""How a value is read: in one way, unless a variable is used for several
things."""

_RECEIVERS = (
    *("accountname", "alertgroup", "apikey", "appkey", "channel", "chatid"),
    *("cluster", "email", "endpoint", "handlers", "integrationkey"),
    *("recipients", "recipientslist", "room", "routingkey", "servicekey"),
    *("teams", "teamslist", "to", "token", "userkey", "workspace"),
    "brokername",
)

_SLOTS: dict[str, Kind | Slot] = {
    **dict.fromkeys(_RECEIVERS, Kind.HANDLER),
    "database": Kind.DATABASE,
    "retentionpolicy": Kind.RETENTION_POLICY,
    "measurement": Slot.NAME,
    "topic": Slot.NAME,
    "topics": Slot.NAME,
    "kafkatopic": Slot.NAME,
    "mqtt": Slot.NAME,
    "query": Slot.INFLUXQL,
    "queryflux": Slot.FLUX,
    "message": Slot.PROSE,
    "details": Slot.PROSE,
    "post": Kind.ENDPOINT,
    "httppost": Kind.ENDPOINT,
    "tcp": Kind.ENDPOINT,
    "addr": Kind.ENDPOINT,
    "address": Kind.ENDPOINT,
    "url": Kind.ENDPOINT,
    "channelurl": Kind.ENDPOINT,
}
"""Properties and nodes of TICKscripts, and options of topic handlers, which
are the same words with hyphens."""


def find_slot(name: str) -> Kind | Slot | None:
    """Return how the value of a property or option is read, if known.

    Notes
    -----
    What opens a door at the one site (``password``, ``Authorization``) opens
    none at the other, and must not get there unseen.
    """
    slot = _SLOTS.get(name.replace("-", "").replace("_", "").lower())
    return Kind.HANDLER if slot is None and SECRET.search(name) else slot


def slots_of(variable: str, rewriter: Rewriter) -> Slots:
    """Return how the value of a dashboard's variable is read."""
    kinds = rewriter.uses.get(variable, ())
    return tuple(sorted(kinds)) or (Slot.TEXT,)


def fill(slots: Slots, value: str, rewriter: Rewriter) -> str:
    """Rewrite a value by how it is read, which stops if that is unclear."""
    found = {_fill(slot, value, rewriter): slot for slot in slots}
    if len(found) > 1:
        kinds = [slot for slot in slots if isinstance(slot, Kind)]
        why = "is used for several things, which differ at the other site"
        return rewriter.stop(kinds[0] if kinds else Kind.DATABASE, value, why)
    return next(iter(found))


def _fill(slot: Kind | Slot, value: str, rewriter: Rewriter) -> str:
    match slot:
        case Slot.INFLUXQL:
            return rewrite_influxql(value, rewriter)
        case Slot.FLUX:
            return rewrite_flux(value, rewriter)
        case Slot.PROSE:
            return rewriter.prose(value)
        case Slot.TEXT:
            return rewriter.text(value)
        case Slot.NAME | Kind():
            kind = Kind.TOPIC_PREFIX if slot is Slot.NAME else slot
            return rewriter.value(kind, value)
