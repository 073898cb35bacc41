"""Everything that talks to a broker."""
