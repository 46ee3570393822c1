"""Pictures of mixed graphs, and the HTML report of studies."""

from ifmixup.report.draw.mixed_pair import draw_mixed_pair

__all__ = ["draw_mixed_pair"]
