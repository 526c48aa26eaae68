"""What a run over time tells: metrics, tables, bounds, JSON, pages."""
