"""The report of an audit: one HTML file."""
