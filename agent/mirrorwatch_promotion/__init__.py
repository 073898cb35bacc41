"""Copies dashboards and alert rules from site to site."""
