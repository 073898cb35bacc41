"""Whether consumer groups could go on at the target."""
