"""Texts of the example check `clocks`."""

from mirrorwatch.domain.finding import Code

__all__ = ["ABOUT", "APART", "NO_DATA", "OK"]

ABOUT = "The clocks of the brokers of both clusters."

OK = Code(name="clocks.ok", title="Clocks agree")

APART = Code(
    name="clocks.apart",
    title="Clocks are {seconds:duration} apart",
    meaning="Latencies between the sites mean nothing.",
    steps="1. Set up NTP on the brokers.",
)

NO_DATA = Code(name="clocks.no-data", title="No clock was read yet")
