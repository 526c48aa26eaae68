"""Largest values of options, the same for the command line, Python, texts and requests."""

from __future__ import annotations

MOST_THREADS = 1024  # no machine has more cores, and a solver starts all of them
MOST_WORKERS = 4096  # of a cluster
LARGEST_SEED = 2**31 - 1  # that every solver accepts
# The names by which solvers call their number of threads.
THREAD_OPTIONS = frozenset({"threads", "num_workers", "num_search_workers", "lp/threads", "parallel/maxnthreads"})
