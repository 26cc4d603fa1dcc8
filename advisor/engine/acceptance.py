"""Tests to pass before a cluster is handed over, each with its threshold and where the threshold comes from.

A threshold is a function of the catalogue's figures, of published measurements of the same part, and of the estimate.
Where nobody has published a figure the test is still run, its result is recorded, and no threshold is made up.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.engine.measured_rates import (
    BUS_FRACTIONS,
    BUS_SOURCE,
    FP8_MATMUL_FRACTIONS,
    GPU_SPREAD_FRACTION,
    LOWEST_RING_FRACTION,
    MATMUL_FRACTIONS,
    MATMUL_SOURCE,
    MEASURING_TOLERANCE_FRACTION,
    NIC_ALL_REDUCE_FRACTION,
    NOTES,
    OUT_SOURCE,
    RDMA_FRACTION,
    RDMA_SOURCE,
    by_sku,
)
from advisor.engine.reliability import poisson_quantile
from advisor.engine.units import SECONDS_PER_HOUR

# Programs by the start of the SKU: memory and health, diagnosis, all-reduce
_TOOLS: dict[str, tuple[str, str, str]] = {
    "nvidia-": ("nvidia-smi", "dcgmi diag -r 4", "nccl-tests all_reduce_perf"),
    "amd-": ("amd-smi", "rvs", "rccl-tests all_reduce_perf"),
    "intel-": ("hl-smi", "hl_qual", "hccl_demo"),
    "huawei-": ("npu-smi", "ascend-dmi", "hccl_test all_reduce_test"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceInputs:
    """Figures of the cluster and of the job that was sized on it; None: not known, or not part of this offer."""

    gpu_sku: str
    gpu_count: int
    gpus_per_server: int
    gpu_memory_bytes: float
    bf16_dense_flops_per_second: float | None = None
    fp8_dense_flops_per_second: float | None = None
    uses_fp8: bool = False
    scale_up_bytes_per_second: float | None = None
    scale_out_bytes_per_second_per_gpu: float | None = None
    nics_per_server: int | None = None  # None: one per GPU
    storage_read_bytes_per_second: float | None = None
    storage_write_bytes_per_second: float | None = None
    # what the systems offered are stated to do together; the plan's need above is often far less
    stated_read_bytes_per_second: float | None = None
    stated_write_bytes_per_second: float | None = None
    checkpoint_bytes: float | None = None
    tokens_per_second: float | None = None
    error_band_fraction: float = 0.15
    server_max_watts: float | None = None
    interruptions_per_gpu_second: float | None = None
    burn_in_hours: float = 48.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceTest:
    """One test: the threshold in the unit named, how it is compared, the program (if one is usual), and the source.

    `comparison`: at_least, at_most, or record (no published figure: the result is written down, nothing is judged).
    """

    code: str
    scope: str  # gpu | server | cluster | storage | job
    comparison: str
    threshold: float | None
    unit: str
    tool: str
    source: str


def is_passed(test: AcceptanceTest, measured: float) -> bool | None:
    """Whether a measurement meets the threshold; None for a test that only records."""
    if test.threshold is None or test.comparison == "record":
        return None
    return measured >= test.threshold if test.comparison == "at_least" else measured <= test.threshold


def _tools(sku: str) -> tuple[str, str, str]:
    """Programs of the GPU's maker; empty for one that is not listed."""
    return next((tools for start, tools in _TOOLS.items() if sku.startswith(start)), ("", "", ""))


def _floor_test(
    code: str, scope: str, expected: float | None, unit: str, tool: str, source: str, tolerance: float
) -> AcceptanceTest:
    """At least the expected figure less the tolerance; without an expectation the result is recorded."""
    return AcceptanceTest(
        code=code,
        scope=scope,
        comparison="record" if expected is None else "at_least",
        threshold=None if expected is None else expected * (1 - tolerance),
        unit=unit,
        tool=tool,
        source=source if expected is not None else "no published measurement of this part: record the result",
    )


def _product(*factors: float | None) -> float | None:
    """Product of the factors; None if one is not known."""
    result = 1.0
    for factor in factors:
        if factor is None:
            return None
        result *= factor
    return result


def _gpu_tests(inputs: AcceptanceInputs) -> list[AcceptanceTest]:
    health, diagnosis, _ = _tools(inputs.gpu_sku)
    wide = _product(inputs.bf16_dense_flops_per_second, by_sku(MATMUL_FRACTIONS, inputs.gpu_sku))
    tests = [
        AcceptanceTest(
            code="gpu_memory_visible",
            scope="gpu",
            comparison="at_least",
            threshold=inputs.gpu_memory_bytes,
            unit="B",
            tool=health,
            source="catalogue: memory that the driver shows",
        ),
        AcceptanceTest(
            code="uncorrectable_memory_errors",
            scope="gpu",
            comparison="at_most",
            threshold=0.0,
            unit="1",
            tool=diagnosis,
            source="a card that shows one during acceptance is replaced",
        ),
        _floor_test("matmul_bf16", "gpu", wide, "FLOP/s", "mamf-finder", MATMUL_SOURCE, MEASURING_TOLERANCE_FRACTION),
        AcceptanceTest(
            code="matmul_spread",
            scope="cluster",
            comparison="at_most",
            threshold=2 * GPU_SPREAD_FRACTION,
            unit="1",
            tool="mamf-finder",
            source=f"{NOTES}: GPUs of one server differ by 5 % and more; the slowest sets the step",
        ),
    ]
    if inputs.uses_fp8:
        narrow = _product(inputs.fp8_dense_flops_per_second, by_sku(FP8_MATMUL_FRACTIONS, inputs.gpu_sku))
        tests.append(
            _floor_test(
                "matmul_fp8", "gpu", narrow, "FLOP/s", "mamf-finder", MATMUL_SOURCE, MEASURING_TOLERANCE_FRACTION
            )
        )
    return tests


def in_server_bus_bytes_per_second(inputs: AcceptanceInputs) -> float | None:
    """Expected all-reduce bus bandwidth in one server, large messages. None without a published share. [B/s]"""
    return _product(inputs.scale_up_bytes_per_second, by_sku(BUS_FRACTIONS, inputs.gpu_sku))


def across_bus_bytes_per_second(
    per_gpu_bytes_per_second: float, server_count: int, gpus_per_server: int, in_server: float
) -> float:
    """Expected all-reduce bus bandwidth over several servers, large messages.

    A NIC carries (k - 1)/(n - 1) of the bus bandwidth, with k servers and n GPUs; it reaches 73 % of its line rate. The
    links inside the servers bound it as well.

    Parameters
    ----------
    per_gpu_bytes_per_second : float
        Line rate of the NICs per GPU. [B/s]
    server_count, gpus_per_server : int
        At least 2 servers. [1]
    in_server : float
        Bus bandwidth inside a server. [B/s]

    Returns
    -------
    float
        [B/s]

    Raises
    ------
    ValueError
        For fewer than 2 servers.

    References
    ----------
    .. [1] NVIDIA nccl-tests, doc/PERFORMANCE.md: bus bandwidth of all-reduce.
    """
    if server_count < 2:
        raise ValueError("Bus bandwidth across servers needs at least 2 of them.")
    gpu_count = server_count * gpus_per_server
    by_nics = per_gpu_bytes_per_second * NIC_ALL_REDUCE_FRACTION * (gpu_count - 1) / (server_count - 1)
    return min(by_nics, in_server)


def _across(inputs: AcceptanceInputs, rate: float, server_count: int, in_server: float | None) -> float | None:
    """Expected bandwidth across servers; None where what bounds it inside, cards over PCIe, has no published figure."""
    bound = in_server or _product(inputs.scale_up_bytes_per_second, LOWEST_RING_FRACTION)
    if inputs.gpus_per_server == 1:
        bound = rate
    return None if bound is None else across_bus_bytes_per_second(rate, server_count, inputs.gpus_per_server, bound)


def _network_tests(inputs: AcceptanceInputs) -> list[AcceptanceTest]:
    tests = []
    all_reduce = _tools(inputs.gpu_sku)[2]
    in_server = in_server_bus_bytes_per_second(inputs)
    if inputs.gpus_per_server > 1:
        tests.append(
            _floor_test(
                "bus_bandwidth_in_server",
                "server",
                in_server,
                "B/s",
                all_reduce,
                BUS_SOURCE,
                MEASURING_TOLERANCE_FRACTION,
            )
        )
    server_count = -(-inputs.gpu_count // inputs.gpus_per_server)
    rate = inputs.scale_out_bytes_per_second_per_gpu
    if server_count > 1 and rate:
        # four servers at a time, as the published tables; a pair would be bounded inside the servers
        group = min(server_count, 4)
        nic = rate * inputs.gpus_per_server / (inputs.nics_per_server or inputs.gpus_per_server)
        across = _across(inputs, rate, group, in_server)
        tests += [
            _floor_test("rdma_per_nic", "server", nic * RDMA_FRACTION, "B/s", "ib_write_bw", RDMA_SOURCE, 0.02),
            _floor_test(
                "bus_bandwidth_across_servers",
                "cluster",
                across,
                "B/s",
                f"{all_reduce}, {group} x {inputs.gpus_per_server} GPU",
                OUT_SOURCE,
                MEASURING_TOLERANCE_FRACTION,
            ),
        ]
    return tests


def _storage_rate(needed: float | None, stated: float | None, need: str) -> tuple[float | None, str]:
    """The plan's need, or what was sold less the tolerance where that is more, with its source."""
    sold = None if stated is None else stated * (1 - MEASURING_TOLERANCE_FRACTION)
    if sold is not None and sold > (needed or 0.0):
        return sold, "catalogue: rate stated for the systems offered, less 5 %"
    return needed, need


def _storage_tests(inputs: AcceptanceInputs) -> list[AcceptanceTest]:
    read, read_source = _storage_rate(
        inputs.storage_read_bytes_per_second, inputs.stated_read_bytes_per_second, "need of the data loader of this job"
    )
    write, write_source = _storage_rate(
        inputs.storage_write_bytes_per_second, inputs.stated_write_bytes_per_second, "need of the checkpoint plan"
    )
    tests = [
        _floor_test(code, "storage", rate, "B/s", "fio", source, 0.0)
        for code, rate, source in (("storage_read", read, read_source), ("storage_write", write, write_source))
        if rate is not None
    ]
    if inputs.checkpoint_bytes is not None and write:
        tests.append(
            AcceptanceTest(
                code="checkpoint_written_and_restored",
                scope="job",
                comparison="at_most",
                threshold=inputs.checkpoint_bytes / write,
                unit="s",
                tool="",
                source="checkpoint bytes over the write rate of the test before",
            )
        )
    return tests


def _job_tests(inputs: AcceptanceInputs) -> list[AcceptanceTest]:
    tests = []
    if inputs.tokens_per_second is not None:
        tests.append(
            _floor_test(
                "job_tokens_per_second",
                "job",
                inputs.tokens_per_second,
                "1/s",
                "",
                "estimate less its error band from published runs",
                inputs.error_band_fraction,
            )
        )
    if inputs.server_max_watts is not None:
        tests.append(
            AcceptanceTest(
                code="server_power",
                scope="server",
                comparison="at_most",
                threshold=inputs.server_max_watts,
                unit="W",
                tool="BMC",
                source="catalogue: maximum power of the server",
            )
        )
    tests.append(
        AcceptanceTest(
            code="clocks_throttled",
            scope="gpu",
            comparison="at_most",
            threshold=0.0,
            unit="s",
            tool=_tools(inputs.gpu_sku)[0],
            source="cooling and supplies must bear the full load",
        )
    )
    return [*tests, *_burn_in_tests(inputs)]


def _burn_in_tests(inputs: AcceptanceInputs) -> list[AcceptanceTest]:
    """Hours under load, and the interruptions that chance allows in them (95 % Poisson quantile)."""
    hours = AcceptanceTest(
        code="burn_in_hours",
        scope="cluster",
        comparison="at_least",
        threshold=inputs.burn_in_hours,
        unit="h",
        tool="",
        source="agreed length, 48 h unless changed: no published norm",
    )
    if inputs.interruptions_per_gpu_second is None:
        return [hours]
    mean = inputs.interruptions_per_gpu_second * inputs.gpu_count * inputs.burn_in_hours * SECONDS_PER_HOUR
    return [
        hours,
        AcceptanceTest(
            code="burn_in_interruptions",
            scope="cluster",
            comparison="at_most",
            threshold=float(poisson_quantile(mean, 0.95)),
            unit="1",
            tool="",
            source="published interruption rate of the generation, 95 % Poisson quantile over the burn-in",
        ),
    ]


def acceptance_tests(inputs: AcceptanceInputs) -> tuple[AcceptanceTest, ...]:
    """All tests of a cluster, from the single GPU to the job.

    Parameters
    ----------
    inputs : AcceptanceInputs
        Catalogue figures and the estimate.

    Returns
    -------
    tuple of AcceptanceTest
        Those that the inputs allow; a missing figure leaves its test out or makes it a record.

    Raises
    ------
    ValueError
        If a count is below 1 or the burn-in is not positive.
    """
    if inputs.gpu_count < 1 or inputs.gpus_per_server < 1 or inputs.burn_in_hours <= 0:
        raise ValueError("GPU counts must be at least 1 and the burn-in must be positive.")
    return (*_gpu_tests(inputs), *_network_tests(inputs), *_storage_tests(inputs), *_job_tests(inputs))
