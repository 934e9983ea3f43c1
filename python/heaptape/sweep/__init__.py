"""`heaptape sweep`: many tapes on many allocators (docs/howto-sweep.md)."""
