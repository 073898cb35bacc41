"""Parity of topics and configurations on both sides."""
