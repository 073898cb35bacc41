"""Notifications of changes."""
