"""`campaign` blocks."""
