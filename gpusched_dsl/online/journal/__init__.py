"""The durable record of a run."""
