"""Whether both sides have the same topics and configurations."""
