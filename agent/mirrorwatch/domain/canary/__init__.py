"""The canary: probes, their ledgers, and the check on them."""
