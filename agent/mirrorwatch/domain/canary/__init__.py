"""The canary's bookkeeping: what was sent, what arrived, what is lost."""

from .arrivals import Sighting, arrive
from .ledger import Incidents, Ledger
from .losses import prove, settle
from .probe import PROBE_BYTES, Message, Probe
from .proof import ORDER_GRACE, Proof

__all__ = [
    "ORDER_GRACE",
    "PROBE_BYTES",
    "Incidents",
    "Ledger",
    "Message",
    "Probe",
    "Proof",
    "Sighting",
    "arrive",
    "prove",
    "settle",
]
