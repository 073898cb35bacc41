"""Record by record, where digests differ."""
