"""Figures of the mirror's own, by JMX: read, and kept with their age."""
