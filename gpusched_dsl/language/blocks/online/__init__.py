"""`online` blocks."""
