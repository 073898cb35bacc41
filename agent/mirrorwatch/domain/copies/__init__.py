"""Model of the copies of a flow: positions, losses, duplicates, starts."""
