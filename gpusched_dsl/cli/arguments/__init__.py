"""Commands, options and help of the command line. Imports nothing but argparse, so that `--help` is quick."""
