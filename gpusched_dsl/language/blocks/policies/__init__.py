"""`policy` blocks."""
