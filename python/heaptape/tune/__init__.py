"""`heaptape tune`: the search for better settings of an allocator (docs/howto-tune.md)."""

from .tuning import tune

__all__ = ["tune"]
