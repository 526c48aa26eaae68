"""The pages of the documentation that ship with the package: `gsdsl explain CODE` and `gsdsl mcp` show them."""
