"""`python -m gpusched_dsl.cli`: the same as `gsdsl`."""

import sys

from gpusched_dsl.cli import main

sys.exit(main())
