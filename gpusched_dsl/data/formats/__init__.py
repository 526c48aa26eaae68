"""Files of traces and prices as their publishers wrote them, and generators of instances: all become plain tables."""
