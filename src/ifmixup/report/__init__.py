"""Pictures and tables of what ifmixup does."""

from ifmixup.report.mixed_pair import draw_mixed_pair

__all__ = ["draw_mixed_pair"]
