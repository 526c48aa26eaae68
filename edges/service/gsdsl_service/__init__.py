"""Live runs as an HTTP service: sessions, their requests, limits, metrics."""
