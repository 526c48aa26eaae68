"""Local search: changes of a schedule, their gains, and the best one of each neighbourhood."""
