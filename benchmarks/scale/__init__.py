"""How far models reach: large instances solved to a stated gap, and how time and memory grow with the cluster."""
