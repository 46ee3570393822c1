"""``python -m ifmixup`` is ``ifmixup``."""

import sys

from ifmixup.cli import main

sys.exit(main())
