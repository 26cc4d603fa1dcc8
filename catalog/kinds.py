"""The kinds of the catalogue as pages show them: columns of the table, groups of the part page."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog import models
from catalog.filters import FILTERS, PartFilter
from catalog.models import Part

Words = str | Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    model: type[Part]
    title: Words
    intro: Words
    columns: tuple[str, ...]
    groups: tuple[tuple[Words, tuple[str, ...]], ...]

    @property
    def code(self) -> str:
        return self.model.kind_code

    @property
    def filter_class(self) -> type[PartFilter]:
        return FILTERS[self.model]


def names(text: str) -> tuple[str, ...]:
    """Field names of a table or group, a space between."""
    return tuple(text.split())


FORM, NETWORK, POWER = pgettext_lazy("group", "Form"), pgettext_lazy("group", "Network"), _("Power and cooling")
GPU_MEMORY, HOST_MEMORY = pgettext_lazy("of a GPU", "Memory"), pgettext_lazy("of a host", "Memory")
SPEED, SOFTWARE = pgettext_lazy("group", "Rates"), pgettext_lazy("group", "Software")

KINDS: tuple[Kind, ...] = (
    Kind(
        model=models.Gpu,
        title=pgettext_lazy("kind", "GPUs"),
        intro=_("Training is sized on dense rates. Rates with 2:4 sparsity stand beside them and are never used."),
        columns=names(
            "architecture form_factor memory_bytes memory_bytes_per_second "
            "bf16_dense_flops_per_second bf16_sparse_flops_per_second fp8_dense_flops_per_second "
            "scale_up_bytes_per_second tdp_watts status"
        ),
        groups=(
            (
                GPU_MEMORY,
                names("memory_label memory_bytes memory_bytes_source memory_note memory_type memory_bytes_per_second"),
            ),
            (
                pgettext_lazy("group", "Links"),
                names("link_type scale_up_bytes_per_second scale_up_domain_size pcie_generation pcie_lanes"),
            ),
            (
                FORM,
                names("architecture form_factor gpus_per_baseboard tdp_watts launch_date status"),
            ),
            (SOFTWARE, names("compute_capability min_cuda")),
            (pgettext_lazy("group", "Use"), names("is_sizeable not_sizeable_reason export_note")),
        ),
    ),
    Kind(
        model=models.Server,
        title=pgettext_lazy("kind", "Servers"),
        intro=_("GPU servers and baseboards with the GPUs that they take; power is the maximum of one chassis."),
        columns=names(
            "gpu_form_factor gpu_slot_count memory_type usable_dimm_slot_count pcie_generation "
            "usable_nic_slot_count rack_units power_watts cooling status"
        ),
        groups=(
            (pgettext_lazy("kind", "GPUs"), names("gpu_baseboard gpu_form_factor gpu_slot_count")),
            (
                _("CPU and memory"),
                names(
                    "cpu_socket_count cpu_socket_type cpu_families fixed_cpu_sku memory_type memory_module "
                    "dimm_slot_count minimum_dimm_slot_count memory_channels_per_socket max_memory_bytes"
                ),
            ),
            (
                pgettext_lazy("group", "Slots"),
                names(
                    "pcie_generation has_pcie_switch pcie_lanes_note nvme_bay_count nvme_form_factor "
                    "nic_slot_count nic_slot_count_derived onboard_nic_sku onboard_nic_count"
                ),
            ),
            (
                POWER,
                names(
                    "rack_units cooling max_power_watts max_power_watts_derived power_rule psu_count "
                    "psu_watts psu_redundancy"
                ),
            ),
            (pgettext_lazy("group", "Use"), names("kind is_orderable status")),
        ),
    ),
    Kind(
        model=models.Cpu,
        title=pgettext_lazy("kind", "CPUs"),
        intro=_("Host processors: cores for data loading, PCIe lanes for GPUs, NICs and drives, memory channels."),
        columns=names(
            "family socket core_count base_hertz memory_type memory_channel_count "
            "memory_transfers_per_second pcie_generation pcie_lanes tdp_watts list_price_usd"
        ),
        groups=(
            (
                pgettext_lazy("group", "Cores"),
                names("family core_count thread_count base_hertz boost_hertz l3_cache_bytes"),
            ),
            (
                HOST_MEMORY,
                names(
                    "memory_type memory_module memory_channel_count memory_transfers_per_second "
                    "memory_bytes_per_second max_memory_bytes"
                ),
            ),
            (
                FORM,
                names("socket max_socket_count pcie_generation pcie_lanes tdp_watts launch_date list_price_usd"),
            ),
        ),
    ),
    Kind(
        model=models.MemoryModule,
        title=pgettext_lazy("kind", "Memory modules"),
        intro=_("Host memory. A module sold as 64 GB holds 64 GiB."),
        columns=names("memory_type capacity_bytes memory_transfers_per_second bytes_per_second typical_price_usd"),
        groups=(
            (
                HOST_MEMORY,
                names(
                    "capacity_label capacity_bytes memory_type memory_module memory_transfers_per_second "
                    "bytes_per_second rank_count has_ecc is_registered typical_price_usd price_source"
                ),
            ),
        ),
    ),
    Kind(
        model=models.Ssd,
        title=pgettext_lazy("kind", "SSDs"),
        intro=_("NVMe drives inside servers; capacities are decimal, as drives are sold."),
        columns=names(
            "capacity_bytes pcie_generation form_factor read_bytes_per_second write_bytes_per_second "
            "endurance_writes_per_day typical_price_usd"
        ),
        groups=(
            (FORM, names("capacity_bytes pcie_generation form_factor power_watts")),
            (
                SPEED,
                names(
                    "read_bytes_per_second write_bytes_per_second random_reads_per_second "
                    "random_writes_per_second endurance_writes_per_day"
                ),
            ),
            (pgettext_lazy("group", "Price"), names("typical_price_usd price_source")),
        ),
    ),
    Kind(
        model=models.StorageSystem,
        title=pgettext_lazy("kind", "Storage systems"),
        intro=_("Shared storage as measured or specified; figures are for the unit named."),
        columns=names("kind unit read_bytes_per_second write_bytes_per_second capacity_bytes power_watts"),
        groups=(
            (FORM, names("kind unit capacity_bytes rack_units power_watts power_origin")),
            (SPEED, names("read_bytes_per_second write_bytes_per_second basis")),
        ),
    ),
    Kind(
        model=models.Nic,
        title=pgettext_lazy("kind", "NICs"),
        intro=_("Network cards. Port rates are per direction; VPI cards speak InfiniBand or Ethernet."),
        columns=names("protocol port_count port_bytes_per_second ib_generation pcie_generation pcie_lanes power_watts"),
        groups=(
            (NETWORK, names("protocol port_count port_bytes_per_second ib_generation rdma")),
            (FORM, names("pcie_generation pcie_lanes power_watts power_origin")),
        ),
    ),
    Kind(
        model=models.Switch,
        title=pgettext_lazy("kind", "Switches"),
        intro=_("InfiniBand HDR is 200 Gbit/s a port, NDR 400, XDR 800."),
        columns=names(
            "protocol port_count port_bytes_per_second ib_generation max_two_tier_endpoint_count power_watts rack_units"
        ),
        groups=(
            (
                NETWORK,
                names(
                    "protocol port_count port_bytes_per_second ib_generation "
                    "throughput_bits_per_second_bidirectional breakout_options max_two_tier_endpoint_count "
                    "max_two_tier_endpoints_by_rate management"
                ),
            ),
            (POWER, names("power_watts passive_power_watts power_origin rack_units")),
        ),
    ),
    Kind(
        model=models.Cable,
        title=pgettext_lazy("kind", "Optics and cables"),
        intro=_("Optical modules, fibres, active and copper cables; rates are per direction."),
        columns=names("kind protocol ib_generation link_count link_bytes_per_second reach_metres power_watts"),
        groups=(
            (
                NETWORK,
                names(
                    "kind protocol ib_generation bytes_per_second link_count link_bytes_per_second end_a "
                    "end_b reach_metres ends_needed_count"
                ),
            ),
            (POWER, names("power_watts power_origin")),
        ),
    ),
    Kind(
        model=models.Rack,
        title=pgettext_lazy("kind", "Racks and power"),
        intro=_("Rack classes by usable power, and the power strips that feed them."),
        columns=names("kind rack_units cooling usable_watts feed_count circuit continuous_circuit_watts"),
        groups=(
            (FORM, names("kind rack_units width_millimetres depth_millimetres")),
            (
                POWER,
                names("cooling usable_watts feed_count circuit circuit_watts continuous_circuit_watts origin"),
            ),
        ),
    ),
    Kind(
        model=models.ManagementNode,
        title=pgettext_lazy("kind", "Management servers"),
        intro=_("Servers without GPUs that a cluster needs: control, login, monitoring, storage gateway."),
        columns=names("role cpu_sku memory_sku ssd_sku rack_units power_watts"),
        groups=(
            (
                FORM,
                names("role cpu_sku cpu_count memory_sku memory_count ssd_sku ssd_count nic_sku nic_count"),
            ),
            (POWER, names("rack_units power_watts power_origin")),
            (pgettext_lazy("group", "Use"), names("quantity_rule")),
        ),
    ),
    Kind(
        model=models.Service,
        title=pgettext_lazy("kind", "Services"),
        intro=_("What is sold beside hardware, with its scope and service level."),
        columns=names("category unit demo_fraction percent_of availability_fraction replacement_seconds"),
        groups=(
            (pgettext_lazy("group", "Scope"), names("display_scope category unit applies_to")),
            (
                _("Service level"),
                names("availability_fraction response_seconds replacement_seconds display_credit_rule"),
            ),
        ),
    ),
    Kind(
        model=models.SoftwareStack,
        title=pgettext_lazy("kind", "Software stacks"),
        intro=_("Toolkit, driver and framework for each GPU architecture: the lowest that runs and the one to take."),
        columns=names(
            "compute_capability toolkit min_toolkit recommended_toolkit min_driver_branch "
            "recommended_driver_branch min_pytorch recommended_pytorch"
        ),
        groups=(
            (
                SOFTWARE,
                names(
                    "gpu_examples compute_capability toolkit min_toolkit recommended_toolkit "
                    "min_driver_branch recommended_driver_branch min_pytorch recommended_pytorch "
                    "collective_library suggested_os"
                ),
            ),
        ),
    ),
    Kind(
        model=models.Tier,
        title=pgettext_lazy("kind", "Tiers"),
        intro=_("Classes of models by total parameters; a bound belongs to the tier above it."),
        columns=names("lower_parameter_count upper_parameter_count claim_build_sku reference_build_sku"),
        groups=((FORM, names("lower_parameter_count upper_parameter_count claim_build_sku reference_build_sku")),),
    ),
    Kind(
        model=models.ReferenceBuild,
        title=pgettext_lazy("kind", "Reference builds"),
        intro=_("Builds as claimed by the market, with what does not fit, and as they can be built from real parts."),
        columns=names("kind gpu_sku gpus_per_server server_sku server_count host_memory_bytes nic_sku"),
        groups=(
            (
                FORM,
                names(
                    "kind gpu_text gpu_sku gpus_per_server_text server_sku server_count cpu_sku "
                    "cpus_per_server memory_text memory_sku memory_modules_per_server host_memory_bytes "
                    "ssd_text ssd_sku ssds_per_server nic_text nic_sku nics_per_server switch_sku storage_sku"
                ),
            ),
            (pgettext_lazy("group", "Check"), names("display_conflict")),
        ),
    ),
    Kind(
        model=models.ModelArchitecture,
        title=pgettext_lazy("kind", "Model architectures"),
        intro=_("Published models by their configuration files; any of them can be sized."),
        columns=names(
            "family kind computed_parameter_count computed_active_parameter_count layer_count "
            "hidden_size head_count kv_head_count vocab_size max_sequence_length"
        ),
        groups=(
            (
                pgettext_lazy("group", "Size"),
                names(
                    "family kind published_label published_parameter_count published_active_parameter_count "
                    "computed_parameter_count computed_active_parameter_count max_sequence_length"
                ),
            ),
            (
                pgettext_lazy("group", "Layers"),
                names(
                    "layer_count hidden_size ffn_size gated_ffn ffn_bias vocab_size tied_embeddings norm "
                    "norms_per_layer"
                ),
            ),
            (
                pgettext_lazy("group", "Attention"),
                names(
                    "attention_kind head_count kv_head_count head_size attention_bias has_qk_norm sliding_window_text"
                ),
            ),
            (
                pgettext_lazy("group", "Experts"),
                names(
                    "expert_count experts_per_token expert_ffn_size shared_expert_count "
                    "shared_expert_ffn_size dense_layer_count"
                ),
            ),
        ),
    ),
)
KINDS_BY_CODE: dict[str, Kind] = {kind.code: kind for kind in KINDS}
