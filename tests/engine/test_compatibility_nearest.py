"""Each failed rule names a part that would pass; the rule itself is the judge of the part it names."""

from __future__ import annotations

from dataclasses import replace

from advisor.engine import compatibility_memory as memory_rules
from advisor.engine import compatibility_network as network_rules
from advisor.engine import compatibility_server as server_rules
from advisor.engine import compatibility_site as site_rules
from tests.engine.catalogue_parts import CANDIDATES, CPUS, GPUS, MEMORIES, NICS, RACKS, SERVERS, SSDS

H100, A100, L40S = GPUS["nvidia-h100-sxm5-80gb"], GPUS["nvidia-a100-sxm4-80gb"], GPUS["nvidia-l40s-48gb"]
DGX_H100, XE9680 = SERVERS["nvidia-dgx-h100"], SERVERS["dell-poweredge-xe9680"]
DDR5_64, XEON = MEMORIES["ddr5-5600-rdimm-64g"], CPUS["intel-xeon-8558"]
DRIVE, NIC_400 = SSDS["kioxia-cm7-r-7680"], NICS["nvidia-cx7-1p-400-vpi"]


def test_a_board_that_is_not_full():
    check = server_rules.gpu_slots(H100, 5, DGX_H100)
    assert (check.code, check.nearest) == ("gpu_board_not_full", f"8 x {H100.sku}")


def test_an_older_server_names_one_of_the_gpus_generation():
    old = replace(XE9680, pcie_generation=4)
    check = server_rules.gpu_link_generation(H100, old, CANDIDATES.servers)
    assert check.code == "server_links_below_gpu"
    assert server_rules.gpu_link_generation(H100, SERVERS[check.nearest]) is None


def test_too_many_modules_name_a_larger_one():
    # 40 x 64 GB = 2 560 GB in 32 slots: 80 GB at least, the next size is 96
    check = memory_rules.memory_slots(DDR5_64, 40, DGX_H100, CANDIDATES.memories)
    assert MEMORIES[check.nearest].capacity_bytes == 96e9
    assert MEMORIES[check.nearest].memory_type == "DDR5"


def test_too_much_memory_names_the_count_that_passes():
    # 2 048 GB at most: 32 x 64 GB
    check = memory_rules.memory_maximum(DDR5_64, 40, DGX_H100)
    assert check.nearest == f"32 x {DDR5_64.sku}"
    assert memory_rules.memory_maximum(DDR5_64, 32, DGX_H100) is None


def test_idle_channels_are_filled_before_faster_modules_are_named():
    check = memory_rules.memory_bandwidth(DDR5_64, 4, XEON, 2, H100, 8, CANDIDATES.memories)
    assert check.nearest == f"16 x {DDR5_64.sku}"
    assert memory_rules.memory_bandwidth(DDR5_64, 16, XEON, 2, H100, 8) is None


def test_too_many_drives_name_a_larger_one():
    # 12 x 7.68 TB in 8 bays: 11.52 TB at least
    check = memory_rules.ssd_bays(DRIVE, 12, DGX_H100, CANDIDATES.ssds)
    larger = SSDS[check.nearest]
    assert larger.capacity_bytes * 8 >= 12 * DRIVE.capacity_bytes
    assert larger.pcie_generation == DRIVE.pcie_generation


def test_too_many_nics_name_one_that_carries_the_rate():
    few = replace(XE9680, nic_slot_count=4)
    check = network_rules.nic_slots(NICS["nvidia-cx7-2p-200-vpi"], 6, few, CANDIDATES.nics)
    if check.nearest:
        named = NICS[check.nearest]
        assert 4 * named.port_count * named.bits_per_second_per_port >= 6 * 400e9
        assert network_rules.nic_pcie_rate(named, few) is None
    slow = network_rules.nic_slots(NICS["nvidia-cx6-1p-200-vpi"], 8, few, CANDIDATES.nics)
    named = NICS[slow.nearest]
    assert 4 * named.port_count * named.bits_per_second_per_port >= 8 * 200e9


def test_shared_nics_name_one_for_each_gpu():
    check = network_rules.nics_per_gpu(NIC_400, 4, 8)
    assert check.nearest == f"8 x {NIC_400.sku}"
    assert network_rules.nics_per_gpu(NIC_400, 8, 8) is None


def test_short_supplies_name_a_server_whose_supplies_carry_it():
    weak = replace(XE9680, psu_count=4, psu_watts=3000.0, psu_redundancy="2+2", max_watts=10_000.0)
    check = site_rules.psu_redundancy(weak, CANDIDATES.servers)
    assert check.code == "psu_redundancy_short"
    named = SERVERS[check.nearest]
    assert site_rules.psu_redundancy(named) is None
    assert named.supported_gpu_skus & weak.supported_gpu_skus


def test_a_low_rack_names_a_higher_one():
    low = replace(RACKS["rack-42u-air-22"], rack_units=12)
    check = site_rules.rack_space(DGX_H100, 2, low, CANDIDATES.racks)
    assert RACKS[check.nearest].rack_units >= 16
    assert site_rules.rack_space(DGX_H100, 2, RACKS[check.nearest]) is None
