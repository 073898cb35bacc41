"""Kafka Connect's REST API: the second source of states and positions."""

from .api import ConnectApi
from .restarter import Restarter
from .worker import ConnectWorker

__all__ = ["ConnectApi", "ConnectWorker", "Restarter"]
