from __future__ import annotations

import csv

import pytest

from advisor.engine.compatibility import SEVERITIES, Build, build_checks
from tests.engine.catalogue_parts import (
    CABLES,
    CANDIDATES,
    CPUS,
    DATA,
    GPUS,
    MEMORIES,
    NICS,
    RACKS,
    SERVERS,
    SSDS,
    SWITCHES,
)


def _reference_builds() -> list[dict[str, str]]:
    with (DATA / "reference_builds.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["kind"] == "corrected"]


def _build(row: dict[str, str]) -> Build:
    return Build(
        server=SERVERS[row["server_sku"]],
        gpu=GPUS[row["gpu_sku"]],
        gpu_count=int(row["gpu_per_server"]),
        server_count=int(row["server_count"]),
        cpu=CPUS[row["cpu_sku"]],
        cpu_count=int(row["cpu_per_server"]),
        memory=MEMORIES[row["memory_sku"]],
        memory_count=int(row["memory_per_server"]),
        ssd=SSDS[row["ssd_sku"]],
        ssd_count=int(row["ssd_per_server"]),
        nic=NICS[row["nic_sku"]],
        nic_count=int(row["nic_per_server"]),
        switch=SWITCHES[row["switch_sku"]] if row["switch_sku"] else None,
        cuda="12.8",
    )


@pytest.mark.parametrize("row", _reference_builds(), ids=lambda row: row["id"])
def test_no_corrected_reference_build_is_blocked(row):
    assert [check for check in build_checks(_build(row), CANDIDATES) if check.severity == "blocks"] == []


def test_the_articles_first_build_on_a_dgx_a100():
    """8 x A100 40GB with 128 GB of DDR5, a PCIe 5.0 drive and one 100G port."""
    build = Build(
        server=SERVERS["nvidia-dgx-a100-320gb"],
        gpu=GPUS["nvidia-a100-sxm4-40gb"],
        gpu_count=8,
        cpu=CPUS["amd-epyc-7742"],
        memory=MEMORIES["ddr5-4800-rdimm-64g"],
        memory_count=2,
        ssd=SSDS["kioxia-cm7-r-1920"],
        ssd_count=1,
        nic=NICS["nvidia-cx5-1p-100-vpi"],
        nic_count=1,
        wanted_memory_type="DDR5",
        wanted_pcie_generation=5,
        cuda="12.0",
    )
    by_code = {check.code: check for check in build_checks(build, CANDIDATES)}
    assert by_code["memory_type_mismatch"].severity == "blocks"
    assert by_code["platform_lacks_wanted"].severity == "blocks"
    assert by_code["ssd_generation_above_server"].severity == "check"
    assert by_code["host_memory_below_gpu_memory"].severity == "check"
    assert by_code["memory_channels_uneven"].severity == "check"
    assert by_code["nics_shared_by_gpus"].figures["bits_per_second_per_gpu"] == pytest.approx(12.5e9)
    assert list(SEVERITIES) == sorted({check.severity for check in by_code.values()}, key=SEVERITIES.index)


def test_network_and_site_are_checked_when_chosen():
    build = Build(
        server=SERVERS["nvidia-dgx-h100"],
        gpu=GPUS["nvidia-h100-sxm5-80gb"],
        gpu_count=8,
        server_count=300,
        nic=NICS["nvidia-cx7-1p-400-vpi"],
        nic_count=8,
        switch=SWITCHES["nvidia-qm9700"],
        cable=CABLES["mcp1650-h002"],
        cable_metres=2.0,
        rack=RACKS["rack-42u-air-8"],
        servers_per_rack=4,
    )
    codes = {check.code for check in build_checks(build, CANDIDATES)}
    assert {"fabric_three_tiers", "cable_rate_mismatch", "rack_power_exceeded"} <= codes


def test_a_wanted_direct_link_is_checked():
    build = Build(
        server=SERVERS["supermicro-as-4125gs-tnrt"],
        gpu=GPUS["nvidia-rtx6000-ada-48gb"],
        gpu_count=8,
        wanted_link="NVLink",
    )
    assert "gpu_link_missing" in {check.code for check in build_checks(build, CANDIDATES)}


def test_blocking_checks_come_first():
    build = Build(server=SERVERS["nvidia-dgx-h100"], gpu=GPUS["nvidia-l40s-48gb"], gpu_count=16, cuda="11.7")
    severities = [check.severity for check in build_checks(build, CANDIDATES)]
    assert severities == sorted(severities, key=SEVERITIES.index)
    assert severities[0] == "blocks"
