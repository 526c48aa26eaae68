"""Room for gangs in a fragmented cluster: models beside rules of other schedulers."""
