"""Consumer groups that read what the mirror copied."""
