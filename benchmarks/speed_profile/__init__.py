"""The single-job problem for 400 jobs on three GPU types: the batch solver, and CVXPY job by job."""
