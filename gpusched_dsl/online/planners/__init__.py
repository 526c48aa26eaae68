"""What makes a plan: policies and solvers."""
