"""The canary's bookkeeping: what was sent, what arrived, what is lost."""

from .arrivals import Sighting, arrive
from .books import Books, Identity
from .incidents import Gap, Incidents
from .ledger import Ledger
from .losses import prove, settle
from .probe import PROBE_BYTES, Message, Probe
from .proof import ORDER_GRACE, Proof
from .survey import (
    Doubt,
    MirrorPosition,
    Settlement,
    Survey,
    TopicState,
    uncovered,
)

__all__ = [
    "ORDER_GRACE",
    "PROBE_BYTES",
    "Books",
    "Doubt",
    "Gap",
    "Identity",
    "Incidents",
    "Ledger",
    "Message",
    "MirrorPosition",
    "Probe",
    "Proof",
    "Settlement",
    "Sighting",
    "Survey",
    "TopicState",
    "arrive",
    "prove",
    "settle",
    "uncovered",
]
