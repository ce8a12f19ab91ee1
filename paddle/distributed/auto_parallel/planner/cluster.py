"""What a plan is made for: devices, their memory and speed, the links between them. Numbers to be edited."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....engine import errors

GIB = 2.0**30


@dataclass
class Link:
    """How fast devices talk: `bandwidth` in bytes a second that a device sends, `latency` in seconds a message."""

    bandwidth: float
    latency: float = 5e-6


@dataclass
class Cluster:
    """Devices and their links.

    Attributes:
        devices: how many.
        per_node: how many share the fast link `inside`; the others talk over `between`.
        memory: bytes of a device.
        peak: floating point operations a second of matrix products in the type of the model.
        bandwidth: bytes a second of a device's memory.
        efficiency: the part of `peak` that large products reach.
        reserved: the part of the memory that is left free.

    Example:
        >>> cluster = paddle.distributed.auto_parallel.Cluster(16, per_node=8, memory=80 * 2**30)
        >>> cluster.link(4, 2).bandwidth == cluster.inside.bandwidth, cluster.link(2, 8).bandwidth == cluster.between.bandwidth
        (True, True)
    """

    devices: int
    per_node: int = 8
    memory: float = 80 * GIB
    peak: float = 989e12
    bandwidth: float = 3.35e12
    efficiency: float = 0.5
    reserved: float = 0.08
    inside: Link = field(default_factory=lambda: Link(450e9, 3e-6))
    between: Link = field(default_factory=lambda: Link(50e9, 1e-5))
    name: str = "H100, 8 a node"

    def __post_init__(self) -> None:
        if self.devices < 1 or self.per_node < 1:
            raise errors.ValueError_(
                f"Cluster: devices and per_node must be positive, got {self.devices}, {self.per_node}"
            )

    def link(self, size: int, stride: int) -> Link:
        """The link of a collective over `size` devices whose numbers are `stride` apart."""
        return self.inside if size * stride <= self.per_node else self.between


def cluster_of(devices: object) -> Cluster:
    """A Cluster from a number, a mesh or a Cluster."""
    if isinstance(devices, Cluster):
        return devices
    size = getattr(devices, "size", devices)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise errors.ValueError_(
            f"plan: devices must be a number, a ProcessMesh or a Cluster, got {errors.describe(devices)}"
        )
    return Cluster(size)
