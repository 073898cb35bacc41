"""A lab: two real Kafka sites and a real MirrorMaker 2 on this machine."""

from .lab import Lab
from .link import Link
from .settings import CANARY_TOPIC, SOURCE, TARGET, LabSettings

__all__ = ["CANARY_TOPIC", "SOURCE", "TARGET", "Lab", "LabSettings", "Link"]
