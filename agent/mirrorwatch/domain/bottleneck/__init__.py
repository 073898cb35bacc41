"""The mirror's JMX metrics, and what they say limits it."""
