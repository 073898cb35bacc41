"""The report of an audit: one HTML file that needs nothing else."""

from .page import report_page

__all__ = ["report_page"]
