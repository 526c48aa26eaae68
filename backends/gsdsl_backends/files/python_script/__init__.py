"""Scripts of Python that state and solve a problem by the solver's own package."""
