"""Messages to people: what changed, to every receiver."""

from .delivery import Delivery
from .forms import FORMS
from .receiver import Receiver
from .sink import NotifySink

__all__ = ["FORMS", "Delivery", "NotifySink", "Receiver"]
