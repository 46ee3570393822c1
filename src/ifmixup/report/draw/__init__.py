"""The picture of a pair of graphs and their mix, and the parts that it is made of."""

from ifmixup.report.draw.mixed_pair import draw_mixed_pair

__all__ = ["draw_mixed_pair"]
