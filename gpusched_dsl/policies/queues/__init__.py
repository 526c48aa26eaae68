"""Policies that append jobs to queues: who goes to which node, in which order a queue is run."""
