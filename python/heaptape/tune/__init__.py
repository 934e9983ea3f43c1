"""`heaptape tune`: the search for better settings of an allocator (docs/howto-tune.md)."""
