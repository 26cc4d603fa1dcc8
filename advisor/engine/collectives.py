"""Time of collective operations on a cluster of scale-up domains joined by one scale-out port per GPU.

All functions are element-wise over arrays. Bandwidths are bytes per second per direction and already *achieved*
(link rate times the calibrated efficiency). Overlap with compute is the caller's matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Number = float | FloatArray


def members_per_domain(group_size: Number, stride: Number, domain_size: Number) -> FloatArray:
    """Members of a communication group that share one scale-up domain.

    Ranks are laid out tensor innermost, then context, then data, then pipeline (the order of arXiv:2104.04473), so a
    group's members are `stride` GPUs apart.

    Parameters
    ----------
    group_size, stride, domain_size : array_like
        Ranks in the group, distance between them, GPUs in a domain. [1]

    Returns
    -------
    ndarray of float64
        At least 1, at most `group_size`. [1]
    """
    return np.minimum(group_size, np.maximum(1.0, np.floor(domain_size / stride)))


def group_bytes_per_second(group_size: Number, local_count: Number, scale_up: Number, scale_out: Number) -> FloatArray:
    """Bandwidth at which a ring over the group moves data, per rank.

    Inside one domain it is the scale-up rate. Across domains the `local_count` members in each drive as many network
    ports at once, so the ring moves at their sum, bounded by the scale-up links that feed them.
    """
    across = np.minimum(np.maximum(local_count, 1.0) * scale_out, scale_up)
    return np.where(np.asarray(local_count) >= group_size, scale_up, across)


def ring_shift_seconds(
    message_bytes: Number, group_size: Number, bytes_per_second: Number, latency_seconds: Number = 0.0
) -> FloatArray:
    """Time of an all-gather or a reduce-scatter of `message_bytes` (the gathered size) over a ring [1]_.

    Each rank moves (g - 1) / g of the message, after a latency that `group_latency_seconds` gives.

    References
    ----------
    .. [1] P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
       J. Parallel Distrib. Comput. 69(2), 117-124, 2009. doi:10.1016/j.jpdc.2008.09.002
    """
    share = 1.0 - 1.0 / np.asarray(group_size, dtype=np.float64)
    return share * message_bytes / bytes_per_second + latency_seconds * (share > 0)


def group_latency_seconds(
    group_size: Number, local_count: Number, hop_seconds: Number, ring_hop_seconds: Number
) -> FloatArray:
    """Start-up time of a collective: trees inside, log2(g) hops, and a ring through every domain that takes part."""
    domains = np.asarray(group_size, dtype=np.float64) / local_count
    return hop_seconds * np.log2(group_size) + ring_hop_seconds * (domains - 1)
