"""What stands around every convolution: batch norm, ReLU and the skip connection."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.nn import BatchNorm

NORMS = ("none", "batch")


def make_norm(norm: str, channels: int) -> nn.Module:
    """Batch norm over all nodes of the batch, or nothing."""
    # A batch of one node has no variance; such a batch falls back on the running statistics.
    return BatchNorm(channels, allow_single_element=True) if norm == "batch" else nn.Identity()


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
        self.skip: nn.Module | None = None
        if skip and in_channels == out_channels:
            self.skip = nn.Identity()
        elif skip:
            self.skip = nn.Linear(in_channels, out_channels, bias=False)

    def forward(self, h: Tensor, *edges: Tensor | None) -> Tensor:
        """Map ``h`` ``[N, in_channels]`` to ``[N, out_channels]``."""
        out = self.norm(self.conv(h, *edges)).relu()
        return out if self.skip is None else out + self.skip(h)
