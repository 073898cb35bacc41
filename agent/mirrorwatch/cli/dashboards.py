"""`mirrorwatch dashboards`: copies dashboards from site to site."""

from .promotion import make_group

__all__ = ["command"]

command = make_group(
    "dashboards", "Chronograf's and Grafana's dashboards", "dashboards"
)
