"""`heaptape sweep`: many tapes on many allocators (docs/howto-sweep.md)."""

from .options import ReplayOptions
from .run import Swept, resume, sweep

__all__ = ["ReplayOptions", "Swept", "resume", "sweep"]
