"""Schemas of the records: whether readers at the target can resolve them."""
