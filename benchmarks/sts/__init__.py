"""One decision of the stochastic scheduler: 100 nodes of three kinds, 400 jobs that may share GPUs."""
