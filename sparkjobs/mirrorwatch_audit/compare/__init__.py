"""Comparing digests of both sides."""
