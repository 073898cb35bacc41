"""Dashboards for Grafana, by its Foundation SDK."""

from .board import STORES, render

__all__ = ["STORES", "render"]
