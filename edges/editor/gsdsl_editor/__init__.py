"""The language server: texts that change, their checks, and one file for each feature of an editor."""
