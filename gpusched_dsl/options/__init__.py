"""The options of all commands, methods and requests: one row each. Nothing heavy is imported here."""
