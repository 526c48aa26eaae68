"""Numbers and counts as text."""
