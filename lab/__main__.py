"""`python -m lab` is `whyperf-lab`."""

import sys

from lab.app import main

sys.exit(main())
