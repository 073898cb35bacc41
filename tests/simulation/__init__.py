"""A deterministic simulation of two sites, their mirror and the agent."""
