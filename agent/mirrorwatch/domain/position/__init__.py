"""The mirror's positions, and resets that no lag shows."""
