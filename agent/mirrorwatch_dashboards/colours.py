"""Health in colours. Unknown is never green."""

from mirrorwatch.domain.report import Health

__all__ = ["COLOURS"]


COLOURS = {
    Health.OFF: "#8e8e8e",
    Health.OK: "#299c46",
    Health.UNKNOWN: "#8f3bb8",
    Health.WARNING: "#ff9830",
    Health.CRITICAL: "#e02f44",
}
"""Grey, green, violet, orange, red: told apart in light and dark."""
