"""Records that were skipped or duplicated, by offsets of both sides."""
