"""Command `mirrorwatch doctor`: examines all that is configured."""

from .examination import LONGEST, Diagnosis, examine

__all__ = ["LONGEST", "Diagnosis", "examine"]
