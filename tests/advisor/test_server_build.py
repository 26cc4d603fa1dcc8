"""What goes into one server."""

from __future__ import annotations

import pytest

from advisor.hardware import load_parts
from advisor.server_build import compute_nic, gpus_in, server_build, servers_for

pytestmark = pytest.mark.usefixtures("catalog")


def _build(gpu_sku, server_sku, **changes):
    parts = load_parts()
    return server_build(parts, parts.gpus[gpu_sku], parts.servers[server_sku], **changes)


def test_a_server_of_a_reference_build_comes_first():
    # reference build ref-t2-h100 names this server
    parts = load_parts()
    assert servers_for(parts, parts.gpus["nvidia-h100-sxm5-80gb"])[0].sku == "supermicro-as-8125gs-tnhr"


def test_ten_slots_hold_eight_cards():
    parts = load_parts()
    assert gpus_in(parts.servers["supermicro-sys-421ge-tnrt"], parts.gpus["nvidia-l40s-48gb"]) == 8


@pytest.mark.parametrize(
    ("gpu", "server", "channels"),
    # channels a socket x 2 sockets: Genoa 12, Sapphire Rapids 8, Ice Lake 8 (makers' specifications)
    [
        ("nvidia-h100-sxm5-80gb", "supermicro-as-8125gs-tnhr", 24),
        ("nvidia-h200-sxm5-141gb", "dell-poweredge-xe9680", 16),
        ("nvidia-a100-sxm4-80gb", "inspur-nf5688m6", 16),
    ],
)
def test_memory_is_even_over_the_channels_and_reaches_the_gpus_memory(gpu, server, channels):
    build = _build(gpu, server)
    assert build.memory is not None
    assert build.memory_count % channels == 0
    assert build.memory_bytes >= build.gpu.spec.memory_bytes * 8


def test_memory_is_of_the_servers_own_type():
    # DGX A100 and its kind are DDR4 and PCIe 4.0
    build = _build("nvidia-a100-sxm4-80gb", "inspur-nf5688m6")
    assert build.memory is not None
    assert build.ssd is not None
    assert build.memory.memory_type == "DDR4"
    assert build.ssd.pcie_generation == 4


def test_a_loading_need_above_the_gpus_memory_is_met_too():
    need = 3e12
    build = _build("nvidia-h100-sxm5-80gb", "supermicro-as-8125gs-tnhr", host_bytes_needed=need)
    assert build.memory_bytes >= need


def test_cpus_fill_the_sockets_with_eight_cores_a_gpu():
    build = _build("nvidia-h100-sxm5-80gb", "supermicro-as-8125gs-tnhr")
    assert build.cpu is not None
    assert build.cpu_count == 2
    assert build.cpu.core_count * 2 >= 8 * 8
    assert build.cpu.family_code == "amd-genoa"


def test_a_built_in_cpu_is_the_only_one():
    build = _build("nvidia-h100-sxm5-80gb", "nvidia-dgx-h100")
    assert build.cpu is not None
    assert build.cpu.sku == "intel-xeon-8480c"


def test_drives_hold_what_is_asked():
    build = _build("nvidia-h100-sxm5-80gb", "supermicro-as-8125gs-tnhr", local_bytes_needed=20e12)
    assert build.ssd is not None
    assert build.ssd.capacity_bytes * build.ssd_count >= 20e12


def test_one_nic_a_gpu_on_boards_and_fewer_in_pcie_servers():
    parts = load_parts()
    board = compute_nic(parts, parts.gpus["nvidia-h100-sxm5-80gb"], parts.servers["supermicro-as-8125gs-tnhr"])
    cards = compute_nic(parts, parts.gpus["nvidia-l40s-48gb"], parts.servers["asus-esc8000a-e13p"])
    assert board[1] == 8
    assert cards[1] == 2


def test_built_in_nics_are_used():
    # HGX B300 carries eight ConnectX-8 of 800 Gbit/s
    parts = load_parts()
    nic, count = compute_nic(parts, parts.gpus["nvidia-b300-sxm-270gb"], parts.servers["supermicro-sys-822gs-nb3rt"])
    assert nic is not None
    assert (nic.port_bytes_per_second, count) == (100e9, 8)


def test_a_lone_server_needs_no_training_fabric():
    build = _build("nvidia-h100-sxm5-80gb", "supermicro-as-8125gs-tnhr", is_clustered=False)
    assert (build.nic, build.nic_count) == (None, 0)


def test_every_part_says_why():
    build = _build("nvidia-h100-sxm5-80gb", "supermicro-as-8125gs-tnhr")
    assert {line.kind for line in build.chosen} >= {"gpu", "cpu", "memory", "ssd", "nic"}
    assert all(line.reason and line.source_rule for line in build.chosen)
