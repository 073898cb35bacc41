"""Failover readiness of consumer groups, and the recovery point of a flow."""
