"""Live runs: events in, decisions out."""
