"""Dashboards: written once, drawn for each program that shows them."""
