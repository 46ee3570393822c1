import sys
from pathlib import Path

# What builds and checks the site lies beside the pages.
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
