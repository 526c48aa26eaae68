"""Tools for assistants that write models: a server of the Model Context Protocol, and the repair of texts by fixes."""
