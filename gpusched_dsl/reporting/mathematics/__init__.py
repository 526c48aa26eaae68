"""A model as numbered mathematics with a notation table, in Markdown or LaTeX."""
