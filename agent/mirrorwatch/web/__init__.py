"""The status page and the API."""
