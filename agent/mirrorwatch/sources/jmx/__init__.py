"""Figures of the mirror's own, by JMX: read, and kept with their age."""

from .board import JmxBoard, Reading
from .jolokia import JolokiaReader
from .prometheus import PrometheusReader
from .reader import JmxAddress, JmxReader
from .rmi import RmiReader
from .source import JmxSource
from .worker import JmxWorker

__all__ = [
    "JmxAddress",
    "JmxBoard",
    "JmxReader",
    "JmxSource",
    "JmxWorker",
    "JolokiaReader",
    "PrometheusReader",
    "Reading",
    "RmiReader",
]
