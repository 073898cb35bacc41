"""The nightly audit: what is compared, and what was found."""
