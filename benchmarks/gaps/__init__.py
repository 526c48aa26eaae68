"""How far heuristics stay from the proved optimum."""
