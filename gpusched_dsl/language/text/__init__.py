"""Numbers, counts and shortened source as text."""
