"""Hostile input for everything that decodes what others wrote."""
