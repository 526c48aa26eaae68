"""Policies that append jobs to queues: the node of each job, and the order of each queue."""
