"""The price-aware day with the formulas as printed: its grounding, and the passes that make it linear."""
