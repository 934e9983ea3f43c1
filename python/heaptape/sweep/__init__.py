"""`heaptape sweep`: many tapes on many allocators (docs/howto-sweep.md)."""

from .options import Comparison, Machines, ReplayOptions
from .run import Swept, resume, sweep

__all__ = ["Comparison", "Machines", "ReplayOptions", "Swept", "resume", "sweep"]
