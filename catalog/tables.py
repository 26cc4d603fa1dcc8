"""Which column of which file fills which field, in which unit. The one place that knows the files' headers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from catalog import cells
from catalog.cells import Cell, CellFormat
from catalog.units import BITS_PER_BYTE, GIBI, GIGA, KILO, MEBI, MEGA, SECONDS_PER_HOUR, SECONDS_PER_MINUTE, TERA

GBIT = Decimal(GIGA) / BITS_PER_BYTE  # one Gbit/s in B/s
HALF_GIGA = Decimal(GIGA) / 2  # a two-way GB/s figure in B/s per direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`empty` is the value of an empty cell; a required column may not be empty."""

    header: str
    field: str
    parse: CellFormat
    is_required: bool = False
    empty: Cell = None
    is_optional_header: bool = False  # the whole column may be missing


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTable:
    file_name: str
    kind: str  # name of the model that the rows fill
    key: str  # header of the column with the natural key
    columns: tuple[Column, ...]
    has_shared_skus: bool = True  # its keys share one name space with the other parts


def must(header: str, field: str = "", parse: CellFormat = cells.text) -> Column:
    return Column(header=header, field=field or header, parse=parse, is_required=True)


def may(header: str, field: str = "", parse: CellFormat = cells.text, *, empty: Cell = None) -> Column:
    """An optional cell. Texts are empty strings, everything else NULL unless `empty` says otherwise."""
    return Column(
        header=header, field=field or header, parse=parse, empty="" if parse is cells.text and empty is None else empty
    )


def extra(header: str, field: str, parse: CellFormat, *, empty: Cell = None) -> Column:
    """A column that a file may leave out altogether."""
    return Column(header=header, field=field, parse=parse, empty=empty, is_optional_header=True)


def origin(*, has_unverified: bool = True, has_source: bool = True) -> tuple[Column, ...]:
    """Where a row was read; every file ends with these."""
    columns = [must("checked_on", parse=cells.day), may("notes")]
    if has_source:
        columns += [may("source_title"), may("source_locator")]
    if has_unverified:
        columns.append(may("unverified_fields", parse=cells.names, empty=[]))
    return tuple(columns)


PRECISIONS = ("tf32", "fp16", "bf16", "fp8", "fp4")

GPUS = FileTable(
    file_name="gpus.csv",
    kind="Gpu",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("vendor"),
        must("model_name", "name"),
        must("architecture"),
        must("form_factor"),
        may("memory_gib_usable_note", "memory_note"),
        must("memory_gb", "memory_label", cells.quantity()),
        must("memory_visible_mib", "memory_bytes", cells.count(MEBI)),
        may("memory_visible_source", "memory_bytes_source"),
        must("memory_type"),
        may("memory_bandwidth_gb_s", "memory_bytes_per_second", cells.quantity(GIGA)),
        may("fp64_tflops", "fp64_flops_per_second", cells.quantity(TERA)),
        may("fp32_tflops", "fp32_dense_flops_per_second", cells.quantity(TERA)),
        *(may(f"{p}_dense_tflops", f"{p}_dense_flops_per_second", cells.quantity(TERA)) for p in PRECISIONS),
        *(may(f"{p}_sparse_tflops", f"{p}_sparse_flops_per_second", cells.quantity(TERA)) for p in PRECISIONS),
        may("int8_dense_tops", "int8_dense_flops_per_second", cells.quantity(TERA)),
        may("int8_sparse_tops", "int8_sparse_flops_per_second", cells.quantity(TERA)),
        may("sparsity_factor", "sparsity_factor", cells.quantity()),
        must("link_type"),
        may("link_gb_s_bidirectional_per_gpu", "scale_up_bytes_per_second", cells.quantity(HALF_GIGA)),
        extra("scale_up_domain_size", "scale_up_domain_size", cells.count()),
        may("pcie_gen", "pcie_generation", cells.count()),
        may("pcie_lanes", parse=cells.count()),
        may("tdp_w", "tdp_watts", cells.quantity()),
        may("gpus_per_baseboard", parse=cells.count()),
        may("launch_date", parse=cells.day),
        must("status", parse=cells.choice("current", "restricted", "eol", "announced")),
        must("sizeable", "is_sizeable", cells.yes_no),
        may("not_sizeable_reason"),
        may("min_cuda"),
        may("compute_capability"),
        may("us_export_note", "export_note"),
        may("cross_check"),
        *origin(),
    ),
)

SERVERS = FileTable(
    file_name="servers.csv",
    kind="Server",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("vendor"),
        must("model_name", "name"),
        must("kind", parse=cells.choice("server", "baseboard")),
        must("orderable", "is_orderable", cells.yes_no),
        must("status"),
        may("gpu_baseboard"),
        must("gpu_form_factor"),
        must("gpu_slots", "gpu_slot_count", cells.count()),
        may("supported_gpu_skus", parse=cells.names, empty=[]),
        may("cpu_sockets", "cpu_socket_count", cells.count()),
        may("cpu_families"),
        may("cpu_family_codes", parse=cells.names, empty=[]),
        may("fixed_cpu_sku"),
        may("cpu_socket_type"),
        may("memory_type"),
        may("memory_module"),
        may("dimm_slots", "dimm_slot_count", cells.count()),
        may("dimm_slots_min_derived", "minimum_dimm_slot_count", cells.count()),
        may("max_memory_gb", "max_memory_bytes", cells.count(GIBI)),
        may("memory_channels_per_socket", parse=cells.count()),
        may("pcie_gen", "pcie_generation", cells.count()),
        may("has_pcie_switch", parse=cells.yes_no),
        may("pcie_lanes_note"),
        may("nvme_bays", "nvme_bay_count", cells.count()),
        may("nvme_form_factor"),
        may("nic_slots", "nic_slot_count", cells.count()),
        may("nic_slots_derived", "nic_slot_count_derived", cells.count()),
        may("onboard_nic_sku"),
        may("onboard_nic_count", parse=cells.count()),
        may("rack_units", parse=cells.count()),
        may("psu_count", parse=cells.count()),
        may("psu_w", "psu_watts", cells.quantity()),
        may("psu_redundancy"),
        may("max_power_w", "max_power_watts", cells.quantity()),
        may("max_power_w_derived", "max_power_watts_derived", cells.quantity()),
        may("power_rule"),
        may("power_factor", parse=cells.quantity()),
        may("cooling"),
        *origin(),
    ),
)

CPUS = FileTable(
    file_name="cpus.csv",
    kind="Cpu",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("vendor"),
        must("model_name", "name"),
        must("family"),
        must("cpu_family_code"),
        must("socket"),
        must("max_sockets", "max_socket_count", cells.count()),
        must("cores", "core_count", cells.count()),
        must("threads", "thread_count", cells.count()),
        may("base_ghz", "base_hertz", cells.quantity(GIGA)),
        may("boost_ghz", "boost_hertz", cells.quantity(GIGA)),
        may("l3_mb", "l3_cache_bytes", cells.count(MEBI)),
        must("memory_type"),
        must("memory_module"),
        must("memory_channels", "memory_channel_count", cells.count()),
        must("memory_speed_mt_s", "memory_transfers_per_second", cells.quantity(MEGA)),
        may("max_memory_gb", "max_memory_bytes", cells.count(GIBI)),
        must("pcie_gen", "pcie_generation", cells.count()),
        must("pcie_lanes", parse=cells.count()),
        must("tdp_w", "tdp_watts", cells.quantity()),
        may("launch_date", parse=cells.day),
        may("list_price_usd", parse=cells.money),
        *origin(),
    ),
)

MEMORY = FileTable(
    file_name="memory.csv",
    kind="MemoryModule",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("vendor"),
        must("model_name", "name"),
        must("memory_type"),
        must("memory_module"),
        must("capacity_gb", "capacity_label", cells.count()),
        must("capacity_gb", "capacity_bytes", cells.count(GIBI)),
        may("speed_mt_s", "memory_transfers_per_second", cells.quantity(MEGA)),
        may("bandwidth_gb_s_per_dimm", "bytes_per_second", cells.quantity(GIGA)),
        may("ranks", "rank_count", cells.count()),
        must("ecc", "has_ecc", cells.yes_no),
        must("registered", "is_registered", cells.yes_no),
        may("typical_price_usd", parse=cells.money),
        may("price_source"),
        may("price_source_locator"),
        *origin(has_unverified=False),
    ),
)

SSDS = FileTable(
    file_name="ssds.csv",
    kind="Ssd",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("vendor"),
        must("model_name", "name"),
        must("capacity_gb", "capacity_bytes", cells.count(GIGA)),
        must("pcie_gen", "pcie_generation", cells.count()),
        must("form_factor"),
        may("seq_read_mb_s", "read_bytes_per_second", cells.quantity(MEGA)),
        may("seq_write_mb_s", "write_bytes_per_second", cells.quantity(MEGA)),
        may("rand_read_kiops", "random_reads_per_second", cells.quantity(KILO)),
        may("rand_write_kiops", "random_writes_per_second", cells.quantity(KILO)),
        may("endurance_dwpd", "endurance_writes_per_day", cells.quantity()),
        may("power_w", "power_watts", cells.quantity()),
        may("typical_price_usd", parse=cells.money),
        may("price_source"),
        may("price_source_locator"),
        *origin(),
    ),
)

STORAGE = FileTable(
    file_name="storage.csv",
    kind="StorageSystem",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("name"),
        must("kind"),
        may("vendor"),
        may("read_gb_s", "read_bytes_per_second", cells.quantity(GIGA)),
        may("write_gb_s", "write_bytes_per_second", cells.quantity(GIGA)),
        may("capacity_tb", "capacity_bytes", cells.count(TERA)),
        may("unit"),
        may("rack_units", parse=cells.count()),
        may("power_w", "power_watts", cells.quantity()),
        may("power_w_origin", "power_origin"),
        may("basis"),
        *origin(),
    ),
)

NICS = FileTable(
    file_name="nics.csv",
    kind="Nic",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("vendor"),
        must("model_name", "name"),
        must("protocol", parse=cells.choice("VPI", "Ethernet", "InfiniBand")),
        must("ports", "port_count", cells.count()),
        must("speed_gbps_per_port", "port_bytes_per_second", cells.quantity(GBIT)),
        may("ib_generation"),
        may("rdma"),
        must("pcie_gen", "pcie_generation", cells.count()),
        must("pcie_lanes", parse=cells.count()),
        may("power_w", "power_watts", cells.quantity()),
        may("power_w_origin", "power_origin"),
        *origin(),
    ),
)

SWITCHES = FileTable(
    file_name="switches.csv",
    kind="Switch",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("vendor"),
        must("model_name", "name"),
        must("protocol", parse=cells.choice("Ethernet", "InfiniBand")),
        must("ports", "port_count", cells.count()),
        must("speed_gbps_per_port", "port_bytes_per_second", cells.quantity(GBIT)),
        may("ib_generation"),
        may("throughput_tbps", "throughput_bits_per_second_bidirectional", cells.quantity(TERA)),
        may("ports_800g", "port_count_800g", cells.count()),
        may("ports_400g", "port_count_400g", cells.count()),
        may("ports_200g", "port_count_200g", cells.count()),
        may("ports_100g", "port_count_100g", cells.count()),
        may("breakout_options", parse=cells.names, empty=[]),
        may("max_two_tier_endpoints", "max_two_tier_endpoint_count", cells.count()),
        may("max_two_tier_endpoints_by_rate", parse=cells.counts_by_rate, empty={}),
        may("power_w", "power_watts", cells.quantity()),
        may("power_w_passive", "passive_power_watts", cells.quantity()),
        may("power_w_origin", "power_origin"),
        may("management"),
        may("rack_units", parse=cells.count()),
        *origin(),
    ),
)

CABLES = FileTable(
    file_name="optics_cables.csv",
    kind="Cable",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("vendor"),
        must("model_name", "name"),
        must("kind"),
        must("protocol", parse=cells.choice("VPI", "Ethernet", "InfiniBand")),
        may("ib_generation"),
        must("speed_gbps", "bytes_per_second", cells.quantity(GBIT)),
        must("link_count", parse=cells.count()),
        must("link_speed_gbps", "link_bytes_per_second", cells.quantity(GBIT)),
        must("end_a"),
        must("end_b"),
        may("reach_m", "reach_metres", cells.quantity(minimum=0)),
        must("ends_needed", "ends_needed_count", cells.count()),
        may("power_w", "power_watts", cells.quantity(minimum=0)),
        may("power_w_origin", "power_origin"),
        *origin(),
    ),
)

RACKS = FileTable(
    file_name="racks.csv",
    kind="Rack",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("kind", parse=cells.choice("rack", "pdu")),
        must("vendor"),
        must("model_name", "name"),
        may("rack_units", parse=cells.count()),
        may("width_mm", "width_millimetres", cells.count()),
        may("depth_mm", "depth_millimetres", cells.count()),
        may("cooling"),
        may("usable_kw", "usable_watts", cells.quantity(KILO)),
        may("feed_count", parse=cells.count()),
        may("circuit"),
        may("circuit_kw", "circuit_watts", cells.quantity(KILO)),
        may("circuit_kw_80_percent", "continuous_circuit_watts", cells.quantity(KILO)),
        may("origin"),
        *origin(),
    ),
)

MANAGEMENT_NODES = FileTable(
    file_name="management_nodes.csv",
    kind="ManagementNode",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("role"),
        must("name_zh"),
        must("name_en", "name"),
        *(
            column
            for part in ("cpu", "memory", "ssd", "nic")
            for column in (may(f"{part}_sku"), may(f"{part}_count", parse=cells.count()))
        ),
        may("rack_units", parse=cells.count()),
        may("power_w", "power_watts", cells.quantity()),
        may("power_w_origin", "power_origin"),
        may("quantity_rule"),
        may("origin"),
        *origin(has_unverified=False),
    ),
)

SERVICES = FileTable(
    file_name="services.csv",
    kind="Service",
    key="sku",
    columns=(
        must("sku", parse=cells.sku),
        must("category"),
        must("name_zh"),
        must("name_en", "name"),
        must("scope_zh"),
        must("scope_en", "scope"),
        must("unit"),
        must("applies_to", parse=cells.names),
        may("price", "list_price", cells.money),
        may("currency", "list_price_currency"),
        may("demo_percent", "demo_fraction", cells.fraction_of_percent),
        may("demo_percent_of", "percent_of"),
        may("demo_price_origin"),
        may("availability_percent", "availability_fraction", cells.fraction_of_percent),
        may("response_minutes", "response_seconds", cells.count(SECONDS_PER_MINUTE)),
        may("replacement_hours", "replacement_seconds", cells.count(SECONDS_PER_HOUR)),
        may("credit_rule_zh"),
        may("credit_rule_en", "credit_rule"),
        may("origin"),
        *origin(has_unverified=False, has_source=False),
    ),
)
