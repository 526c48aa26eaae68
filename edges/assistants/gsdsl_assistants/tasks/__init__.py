"""The tools that read a model, one per file; each runs in a process of its own."""
