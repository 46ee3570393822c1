"""What stands around every convolution: batch norm, ReLU and the skip connection."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ifmixup.nn.norm import make_norm


class Layer(nn.Module):
    r"""One step of message passing.

    .. math::
        \mathbf{h}' = \mathrm{ReLU}(\mathrm{norm}(\mathrm{conv}(\mathbf{h}))) \; [+ S \mathbf{h}]

    Args:
        conv: Maps ``(h, *edges)`` to ``[N, out_channels]``.
        in_channels: The width of ``h``.
        out_channels: The width of the result.
        norm: ``"none"`` or ``"batch"``.
        skip: Whether to add the skip connection; :math:`S` is the identity, or a linear map
            where the widths differ.
    """

    def __init__(
        self, conv: nn.Module, in_channels: int, out_channels: int, norm: str, *, skip: bool
    ) -> None:
        super().__init__()
        self.conv = conv
        self.norm = make_norm(norm, out_channels)
        self.has_skip = skip
        self.skip: nn.Module | None = None
        if skip and in_channels != out_channels:
            self.skip = nn.Linear(in_channels, out_channels, bias=False)

    def forward(self, h: Tensor, *edges: Any) -> Tensor:
        """Map ``h`` ``[N, in_channels]`` to ``[N, out_channels]``."""
        out = self.norm(self.conv(h, *edges)).relu_()  # nobody else sees what relu_ overwrites
        if not self.has_skip:
            return out
        return out + (h if self.skip is None else self.skip(h))
