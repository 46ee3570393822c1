"""What older versions of torch cannot do, as marks that skip a test."""

import pytest
import torch
from packaging.version import Version

ONE_GRAPH = pytest.mark.skipif(
    Version(torch.__version__) < Version("2.6"),
    reason="torch.compile of this torch cannot trace a context manager into one graph",
)
