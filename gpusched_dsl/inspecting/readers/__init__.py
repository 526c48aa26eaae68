"""From a source to a snapshot, one file for each kind of source."""
