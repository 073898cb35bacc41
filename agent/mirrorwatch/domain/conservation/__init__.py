"""What goes into a mirror must come out: skips and repeats by offsets."""

from .books import Books
from .epoch import Epoch
from .happening import Happening, Kind
from .inquiry import Inquiry, Point, Span
from .reading import Reading
from .suspicion import Suspicion
from .tally import Tally

__all__ = ["Books", "Epoch", "Happening", "Inquiry", "Kind", "Point"]
__all__ += ["Reading", "Span", "Suspicion", "Tally"]
