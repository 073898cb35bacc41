"""Notifications of changes, and maintenance."""
