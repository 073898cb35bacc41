"""Whether both sides of a flow are alike: topics, then their configuration."""
