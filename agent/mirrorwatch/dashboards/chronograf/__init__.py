"""Dashboards for Chronograf, on InfluxDB 1.x or on 2.x by its InfluxQL."""

from .board import NAME, render

__all__ = ["NAME", "render"]
