"""Sinks: one file for each destination of reports."""
