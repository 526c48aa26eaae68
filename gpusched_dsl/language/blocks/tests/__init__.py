"""`test` blocks."""
