"""Job shops and gangs on named nodes: intervals by each backend."""
