"""`python -m gpusched_dsl`: the same as `gsdsl`."""

import sys

from gpusched_dsl.cli import main

sys.exit(main())
