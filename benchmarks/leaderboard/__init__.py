"""A leaderboard of online GPU scheduling with proved bounds: frozen tracks, entries, a referee, rendered pages."""
