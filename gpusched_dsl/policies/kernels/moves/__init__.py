"""Local search: changes of a schedule, what they gain, and the best one of each neighbourhood."""
