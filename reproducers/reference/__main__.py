"""Entry point of `python -m reproducers.reference`."""

import sys

from reproducers.reference.compute import main

sys.exit(main())
