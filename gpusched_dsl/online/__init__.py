"""Models driven over time: events, the world, the rolling-horizon loop and its journal."""
