"""Scripts of Python that state and solve a problem by the solver's own package.

A script states the grounded problem, not the model: a translation of the model would need the data, the
reformulations and the evaluator in the script.
"""
