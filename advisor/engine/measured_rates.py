"""Published measurements of parts against their datasheet rates, by the start of the SKU."""

from __future__ import annotations

NOTES = "ml-engineering notes (github:stas00/ml-engineering @ 744d01e)"
MATMUL_SOURCE = f"{NOTES}, accelerator: best shape of mamf-finder against the dense peak"
BUS_SOURCE = f"{NOTES}, network: nccl-tests all_reduce, largest message, share of the one-way link rate"
OUT_SOURCE = f"{NOTES}, network: 4 x 8 B200 and H200, 73 to 74 % of the NIC's line rate per NIC"
RDMA_SOURCE = f"{NOTES}, network: 193.7 of 200 Gbit/s point to point"

# Achieved share of the dense peak by the start of the SKU; a part that is not listed has no published measurement.
MATMUL_FRACTIONS: dict[str, float] = {
    "nvidia-a100-sxm4": 0.869,
    "nvidia-a100-pcie": 0.811,
    "nvidia-h100-sxm5": 0.803,
    "nvidia-h200-sxm5": 0.803,
    "nvidia-gh200": 0.838,
    "nvidia-b200": 0.776,
    "nvidia-b300": 0.786,
    "nvidia-gb200": 0.729,
    "nvidia-l20-": 0.88,
    "amd-mi300x": 0.51,
    "amd-mi325x": 0.60,
    "amd-mi355x": 0.62,
    "intel-gaudi2": 0.969,
    "intel-gaudi3": 0.741,
}
FP8_MATMUL_FRACTIONS: dict[str, float] = {
    "nvidia-h100-sxm5": 0.709,
    "nvidia-h200-sxm5": 0.734,
    "nvidia-gh200": 0.776,
    "nvidia-b200": 0.763,
    "nvidia-b300": 0.745,
    "nvidia-gb200": 0.723,
}
# All-reduce bus bandwidth in one server over the one-way link rate. Hopper and Blackwell boards reduce in the switch.
BUS_FRACTIONS: dict[str, float] = {
    "nvidia-a100-sxm4": 0.78,
    "nvidia-h100-sxm5": 1.07,
    "nvidia-h200-sxm5": 1.07,
    "nvidia-b200": 0.93,
    "nvidia-gb200": 0.94,
}
LOWEST_RING_FRACTION = 0.76  # of the one-way link rate: 8 x B200 without reduction in the switch, the lowest published
NIC_ALL_REDUCE_FRACTION = 0.73
RDMA_FRACTION = 0.97
GPU_SPREAD_FRACTION = 0.05  # GPUs of one server differ by 5 % and more (the same notes)
MEASURING_TOLERANCE_FRACTION = 0.05


def by_sku(fractions: dict[str, float], sku: str) -> float | None:
    """Entry of the longest start of the SKU; None where the part has none."""
    starts = [start for start in fractions if sku.startswith(start)]
    return fractions[max(starts, key=len)] if starts else None
