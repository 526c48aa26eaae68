"""Fast replay of complete runs, for policies with a constant order of the queue."""
