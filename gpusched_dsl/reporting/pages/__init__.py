"""HTML pages of results: schedules, charts and tables in one self-contained file."""
