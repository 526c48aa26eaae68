"""The distance of heuristics to the proved optimum."""
