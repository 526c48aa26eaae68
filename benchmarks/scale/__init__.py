"""The limits of models: large instances solved to a stated gap, and the growth of time and memory with the cluster."""
