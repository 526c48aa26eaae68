"""Reports of a run over time: metrics, tables, bounds, JSON, pages."""
