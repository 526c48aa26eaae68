"""The pages of the documentation that ship with the package: `errors.md`, which `gsdsl explain CODE` shows."""
