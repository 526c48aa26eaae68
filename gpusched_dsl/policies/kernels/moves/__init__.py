"""Local search: changes of a schedule, their gains, and the best one of each neighbourhood.

Seven neighbourhoods are published, two are ours: the published ones leave most of the cost where waiting jobs
dominate, and `PublishedLocalSearch` keeps them unchanged.
"""
