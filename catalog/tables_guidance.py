"""Columns of the advice files (tiers, builds, stacks, models) and of the price files."""

from __future__ import annotations

from catalog import cells
from catalog.tables import (
    CABLES,
    CPUS,
    GPUS,
    MANAGEMENT_NODES,
    MEMORY,
    NICS,
    RACKS,
    SERVERS,
    SERVICES,
    SSDS,
    STORAGE,
    SWITCHES,
    FileTable,
    may,
    must,
    origin,
)

TIERS = FileTable(
    file_name="tiers.csv",
    kind="Tier",
    key="code",
    has_shared_skus=False,
    columns=(
        must("code", "sku", cells.sku),
        must("name_zh"),
        must("name_en", "name"),
        must("lower_parameter_count", parse=cells.count(minimum=0)),
        may("upper_parameter_count", parse=cells.count()),
        may("claim_id"),
        may("claim_name_zh"),
        may("claim_name_en", "claim_name"),
        may("example_uses_zh"),
        may("example_uses_en", "example_uses"),
        may("claim_build_id", "claim_build_sku"),
        may("reference_build_id", "reference_build_sku"),
        may("origin"),
        *origin(has_unverified=False, has_source=False),
    ),
)

BUILDS = FileTable(
    file_name="reference_builds.csv",
    kind="ReferenceBuild",
    key="id",
    columns=(
        must("id", "sku", cells.sku),
        must("tier_code", "tier_sku"),
        must("kind", parse=cells.choice("claim", "corrected")),
        must("origin"),
        must("name_zh"),
        must("name_en", "name"),
        may("gpu_text"),
        may("gpu_sku"),
        may("gpu_per_server", "gpus_per_server_text"),
        may("gpu_per_server", "gpus_per_server", cells.one_count_or_none),
        may("server_sku"),
        may("server_count", parse=cells.one_count_or_none),
        may("cpu_sku"),
        may("cpu_per_server", "cpus_per_server", cells.count()),
        may("memory_text"),
        may("memory_sku"),
        may("memory_per_server", "memory_modules_per_server", cells.count()),
        may("host_memory_gb", "host_memory_text"),
        may("host_memory_gb", "host_memory_gib", cells.one_count_or_none),
        may("ssd_text"),
        may("ssd_sku"),
        may("ssd_per_server", "ssds_per_server", cells.count()),
        may("nic_text"),
        may("nic_sku"),
        may("nic_per_server", "nics_per_server", cells.count()),
        may("switch_sku"),
        may("storage_sku"),
        may("conflict_zh"),
        may("conflict_en", "conflict"),
        *origin(has_unverified=False, has_source=False),
    ),
)

STACKS = FileTable(
    file_name="software_stacks.csv",
    kind="SoftwareStack",
    key="",  # made of architecture and compute capability
    columns=(
        must("architecture"),
        must("vendor"),
        may("compute_capability"),
        may("gpu_examples", parse=cells.names, empty=[]),
        must("toolkit"),
        may("min_toolkit"),
        may("recommended_toolkit"),
        may("min_driver_branch"),
        may("recommended_driver_branch"),
        may("min_pytorch"),
        may("recommended_pytorch"),
        may("collective_library"),
        may("suggested_os"),
        may("origin"),
        *origin(),
    ),
)

WHOLE_OR_ZERO = (
    "expert_count",
    "experts_per_token",
    "expert_ffn_size",
    "shared_expert_count",
    "shared_expert_ffn_size",
    "dense_layer_count",
    "q_lora_rank",
    "kv_lora_rank",
    "qk_nope_head_size",
    "qk_rope_head_size",
    "v_head_size",
    "mtp_layer_count",
    "other_parameter_count",
)

ARCHITECTURES = FileTable(
    file_name="model_architectures.csv",
    kind="ModelArchitecture",
    key="preset",
    has_shared_skus=False,
    columns=(
        must("preset", "sku", cells.sku),
        must("name"),
        must("family"),
        must("kind", parse=cells.choice("decoder", "encoder", "vision")),
        *(
            must(header, parse=cells.count())
            for header in ("layer_count", "hidden_size", "head_count", "kv_head_count", "head_size")
        ),
        may("ffn_size", parse=cells.count()),
        may("vocab_size", parse=cells.count()),
        must("gated_ffn", parse=cells.yes_no),
        must("tied_embeddings", parse=cells.yes_no),
        may("learned_positions", "learned_position_count", cells.count(minimum=0), empty=0),
        must("attention_bias", parse=cells.choice("none", "qkv", "all")),
        must("ffn_bias", parse=cells.yes_no),
        must("norm", parse=cells.choice("rms", "layer")),
        must("norm_bias", parse=cells.yes_no),
        must("norms_per_layer", parse=cells.count()),
        must("qk_norm", "has_qk_norm", cells.yes_no),
        must("attention_kind", parse=cells.choice("mha", "gqa", "mqa", "mla")),
        may("sliding_window", "sliding_window_text"),
        may("sliding_window", "sliding_window", cells.window(0), empty=0),
        may("sliding_window", "window_layers_per_period", cells.window(1), empty=1),
        may("sliding_window", "window_period", cells.window(2), empty=1),
        *(may(header, parse=cells.count(minimum=0), empty=0) for header in WHOLE_OR_ZERO),
        may("published_parameter_count", parse=cells.count()),
        may("published_active_parameter_count", parse=cells.count()),
        may("published_label"),
        must("computed_parameter_count", parse=cells.count()),
        must("computed_active_parameter_count", parse=cells.count()),
        must("max_sequence_length", parse=cells.count()),
        may("source_title"),
        may("source_locator"),
        may("notes"),
    ),
)

CLOUD_PRICES = FileTable(
    file_name="cloud_prices.csv",
    kind="CloudPrice",
    key="",  # one row a provider class, GPU, deployment, commitment, currency and selection
    columns=(
        must("provider_class", parse=cells.choice("china", "neocloud", "hyperscaler", "marketplace")),
        must("gpu_sku"),
        must("deployment", parse=cells.choice("bare_metal", "virtualized", "unknown")),
        must("commitment", parse=cells.choice("on_demand", "1m", "1y", "3y")),
        must("currency", parse=cells.choice("CNY", "USD")),
        must("unit", parse=cells.choice("gpu_hour")),
        must("low", "low_amount", cells.money),
        must("median", "median_amount", cells.money),
        must("high", "high_amount", cells.money),
        must("row_count", parse=cells.count()),
        must("provider_count", parse=cells.count()),
        must("providers", parse=cells.names),
        may("as_of_from", parse=cells.partial_day),
        may("as_of_to", parse=cells.partial_day),
        must("newest_only", "is_newest_only", cells.yes_no),
        must("method"),
        must("checked_on", parse=cells.day),
        may("notes"),
    ),
)

RENTAL_PRICES = FileTable(
    file_name="prices_rental.csv",
    kind="RentalObservation",
    key="",
    columns=(
        must("provider"),
        must("country"),
        must("provider_class", parse=cells.choice("china", "neocloud", "hyperscaler", "marketplace")),
        may("gpu_sku"),
        must("bare_metal", parse=cells.choice("yes", "no", "unknown")),
        must("commitment", parse=cells.choice("on_demand", "spot", "1m", "1y", "3y")),
        must("price", parse=cells.money),
        must("currency", parse=cells.choice("CNY", "USD")),
        must("unit", parse=cells.choice("gpu_hour", "gpu_month", "gpu_year", "server_month")),
        must("price_per_gpu_hour", parse=cells.money),
        must("price_per_gpu_hour_origin"),
        may("as_of", parse=cells.partial_day),
        may("source_title"),
        may("source_locator"),
        may("region"),
        may("instance"),
        may("gpus_per_instance", parse=cells.count()),
        must("in_summary", parse=cells.yes_no),
        may("gpu_label"),
        may("notes"),
    ),
)

PURCHASE_PRICES = FileTable(
    file_name="prices_purchase.csv",
    kind="PurchaseObservation",
    key="",
    columns=(
        may("sku"),
        may("gpu_sku"),
        may("gpu_count", parse=cells.count()),
        must("item"),
        must("category"),
        may("vendor"),
        may("sku_hint"),
        must("price_low", parse=cells.money),
        must("price_high", parse=cells.money),
        must("price_typical", parse=cells.money),
        must("typical_origin"),
        must("currency", parse=cells.choice("CNY", "USD", "EUR")),
        must("unit"),
        must("condition", parse=cells.choice("new", "used")),
        must("tax_included", parse=cells.choice("yes", "no (HT)", "no/unknown")),
        must("reliability", parse=cells.choice("reseller", "list", "press")),
        may("as_of", parse=cells.partial_day),
        *origin(has_unverified=False),
    ),
)

PROXY_PRICES = FileTable(
    file_name="price_proxies.csv",
    kind="ProxyPrice",
    key="",
    columns=(
        must("sku"),
        must("proxy_item"),
        must("proxy_price", parse=cells.money),
        must("currency", parse=cells.choice("CNY", "USD", "EUR")),
        must("unit"),
        must("factor", parse=cells.money),
        must("price", parse=cells.money),
        must("origin"),
        *origin(has_unverified=False, has_source=False),
    ),
)

PART_TABLES: tuple[FileTable, ...] = (
    GPUS,
    CPUS,
    MEMORY,
    SSDS,
    STORAGE,
    NICS,
    SWITCHES,
    CABLES,
    RACKS,
    MANAGEMENT_NODES,
    SERVICES,
)
PART_TABLES += (SERVERS, STACKS, TIERS, BUILDS, ARCHITECTURES)
PRICE_TABLES = (CLOUD_PRICES, RENTAL_PRICES, PURCHASE_PRICES, PROXY_PRICES)


def sku_references() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """(kind, field, kinds that the named SKU may be of): what must exist when a row names it."""
    builds = tuple(
        ("ReferenceBuild", field, (kind,))
        for field, kind in (
            ("tier_sku", "Tier"),
            ("gpu_sku", "Gpu"),
            ("server_sku", "Server"),
            ("cpu_sku", "Cpu"),
            ("memory_sku", "MemoryModule"),
            ("ssd_sku", "Ssd"),
            ("nic_sku", "Nic"),
            ("switch_sku", "Switch"),
            ("storage_sku", "StorageSystem"),
        )
    )
    managed = tuple(
        ("ManagementNode", field, (kind,))
        for field, kind in (("cpu_sku", "Cpu"), ("memory_sku", "MemoryModule"), ("ssd_sku", "Ssd"), ("nic_sku", "Nic"))
    )
    return (
        ("Server", "supported_gpu_skus", ("Gpu",)),
        ("Server", "fixed_cpu_sku", ("Cpu",)),
        ("Server", "onboard_nic_sku", ("Nic",)),
        *managed,
        *builds,
        ("Tier", "claim_build_sku", ("ReferenceBuild",)),
        ("Tier", "reference_build_sku", ("ReferenceBuild",)),
        ("CloudPrice", "gpu_sku", ("Gpu",)),
        ("RentalObservation", "gpu_sku", ("Gpu",)),
        ("PurchaseObservation", "gpu_sku", ("Gpu",)),
        ("PurchaseObservation", "sku", ()),
        ("ProxyPrice", "sku", ()),
    )
