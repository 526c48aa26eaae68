"""Fast replay of whole runs, for policies whose queue never changes its order."""
