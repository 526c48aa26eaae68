"""One file for each verb of the user: the command line and the Python interface call these."""
