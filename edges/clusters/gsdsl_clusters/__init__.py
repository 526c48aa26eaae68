"""Clusters: drivers of Slurm and Kubernetes, and a look at a cluster or its history without a model."""
