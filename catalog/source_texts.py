"""Texts of the catalogue's own files that people read on pages and quotes: a closed set, so they have a translation.

Research notes and source titles are not here: they stay as they were written.
"""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

SOURCE_TEXTS = {
    "2023-10 rules may apply by performance density; check ECCN": _(
        "2023-10 rules may apply by performance density; check ECCN"
    ),
    "China variant designed for 2023-10 rules": _("China variant designed for 2023-10 rules"),
    "Chinese part; US BIS 2025-05 guidance warns on use of Ascend 910B/C/D": _(
        "Chinese part; US BIS 2025-05 guidance warns on use of Ascend 910B/C/D"
    ),
    "below 2022-10 thresholds; check ECCN": _("below 2022-10 thresholds; check ECCN"),
    "check ECCN": _("check ECCN"),
    ("compliant variant of 2023-10 rules; licence required since 2025-04; case-by-case since 2026-01-15"): _(
        "compliant variant of 2023-10 rules; licence required since 2025-04; case-by-case since 2026-01-15"
    ),
    "controlled for China (RTX 5090 D is the China variant)": _(
        "controlled for China (RTX 5090 D is the China variant)"
    ),
    "controlled for China since 2022-10": _("controlled for China since 2022-10"),
    "controlled for China since 2023-10": _("controlled for China since 2023-10"),
    "controlled for China since 2023-10 (above the 2026-01 case-by-case ceiling)": _(
        "controlled for China since 2023-10 (above the 2026-01 case-by-case ceiling)"
    ),
    "controlled for China since 2023-10 (was the 2022 compliant variant)": _(
        "controlled for China since 2023-10 (was the 2022 compliant variant)"
    ),
    "controlled for China since 2023-10 (was the 2023 compliant variant)": _(
        "controlled for China since 2023-10 (was the 2023 compliant variant)"
    ),
    "controlled for China since 2023-10; 2026-01 case-by-case rule names MI325X": _(
        "controlled for China since 2023-10; 2026-01 case-by-case rule names MI325X"
    ),
    (
        "controlled for China since 2023-10; since 2026-01-15 H200-class and below: BIS "
        "case-by-case review for China/Macau exports from the US (licence still needed)"
    ): _(
        "controlled for China since 2023-10; since 2026-01-15 H200-class and below: BIS "
        "case-by-case review for China/Macau exports from the US (licence still needed)"
    ),
    "controlled for China since 2023-11 (2023-10 rule)": _("controlled for China since 2023-11 (2023-10 rule)"),
    "not licence-free for China; check ECCN": _("not licence-free for China; check ECCN"),
    "not singled out in 2022-10/2023-10 lists; check ECCN": _("not singled out in 2022-10/2023-10 lists; check ECCN"),
    "performance in A100 class; controlled for China since 2022-10": _(
        "performance in A100 class; controlled for China since 2022-10"
    ),
    "no BF16 hardware (FP16 125 TFLOPS with loss scaling only)": _(
        "no BF16 hardware (FP16 125 TFLOPS with loss scaling only)"
    ),
    ("no dense BF16 rate; no memory bandwidth; no power figure (power and racks cannot be computed)"): _(
        "no dense BF16 rate; no memory bandwidth; no power figure (power and racks cannot be computed)"
    ),
    "not sold (superseded by B200); figures from a brief, unverified": _(
        "not sold (superseded by B200); figures from a brief, unverified"
    ),
    "MLPerf Training v5.0/v5.1 system files": _("MLPerf Training v5.0/v5.1 system files"),
    "derived: as nvidia-h100-sxm5-80gb": _("derived: as nvidia-h100-sxm5-80gb"),
    "derived: as nvidia-l40s-48gb (same 48 GB GDDR6, ECC on)": _(
        "derived: as nvidia-l40s-48gb (same 48 GB GDDR6, ECC on)"
    ),
    "derived: as nvidia-rtx4090-24gb": _("derived: as nvidia-rtx4090-24gb"),
    "nominal GiB x 1024": _("nominal GiB x 1024"),
    "nvidia-smi listings in public repositories": _("nvidia-smi listings in public repositories"),
    "nvidia-smi listings in public repositories (ECC off)": _("nvidia-smi listings in public repositories (ECC off)"),
    "nvidia-smi listings in public repositories (ECC on)": _("nvidia-smi listings in public repositories (ECC on)"),
    "nvidia-smi listings in public repositories (device name H20-3e)": _(
        "nvidia-smi listings in public repositories (device name H20-3e)"
    ),
    "AI storage appliance": _("AI storage appliance"),
    "Lustre appliance": _("Lustre appliance"),
    "block (NVMe/TCP)": _("block (NVMe/TCP)"),
    "composable NVMe in cloud": _("composable NVMe in cloud"),
    "distributed all-flash": _("distributed all-flash"),
    "distributed all-flash (NFS/S3, disaggregated)": _("distributed all-flash (NFS/S3, disaggregated)"),
    "distributed all-flash appliance": _("distributed all-flash appliance"),
    "distributed all-flash file system": _("distributed all-flash file system"),
    "distributed file (NFS)": _("distributed file (NFS)"),
    "distributed file over object storage": _("distributed file over object storage"),
    "distributed, open source": _("distributed, open source"),
    "distributed, open source (MIT)": _("distributed, open source (MIT)"),
    "local NVMe": _("local NVMe"),
    "parallel NFS / global file system": _("parallel NFS / global file system"),
    "parallel file system": _("parallel file system"),
    "parallel file system appliance (EXAScaler/Lustre)": _("parallel file system appliance (EXAScaler/Lustre)"),
    "parallel file system, open source": _("parallel file system, open source"),
    "scale-out all-flash file/object": _("scale-out all-flash file/object"),
    "10 blades x 2 x 24 TB": _("10 blades x 2 x 24 TB"),
    "180-node cluster": _("180-node cluster"),
    "3-node system": _("3-node system"),
    "32-node system": _("32-node system"),
    "7-node system": _("7-node system"),
    "cluster of 63-68 nodes": _("cluster of 63-68 nodes"),
    "one 1U server": _("one 1U server"),
    "one 2U appliance, 2.2 kW": _("one 2U appliance, 2.2 kW"),
    "one appliance": _("one appliance"),
    "one drive": _("one drive"),
    "per node": _("per node"),
    "system (open division)": _("system (open division)"),
    "system as tested": _("system as tested"),
    "system, 5 clients": _("system, 5 clients"),
    "system, ONE client": _("system, ONE client"),
    "STAC-M3 test configuration, 2024-01": _("STAC-M3 test configuration, 2024-01"),
    "measured": _("measured"),
    "measured by the vendor": _("measured by the vendor"),
    "measured: MLPerf Storage v1.0, 3D-UNet H100 training reads": _(
        "measured: MLPerf Storage v1.0, 3D-UNet H100 training reads"
    ),
    "vendor documentation": _("vendor documentation"),
    "vendor specification (secondary copy)": _("vendor specification (secondary copy)"),
    "42U rack, air with aisle containment, 22 kW class": _("42U rack, air with aisle containment, 22 kW class"),
    "42U rack, air, 12 kW class": _("42U rack, air, 12 kW class"),
    "42U rack, air, 8 kW class": _("42U rack, air, 8 kW class"),
    "48U rack with rear-door heat exchanger, 50 kW class": _("48U rack with rear-door heat exchanger, 50 kW class"),
    "48U rack, air, 42 kW class (SuperPOD)": _("48U rack, air, 42 kW class (SuperPOD)"),
    "48U rack, direct liquid cooling, 80 kW class": _("48U rack, direct liquid cooling, 80 kW class"),
    "GB200 NVL72 rack (72 GPUs)": _("GB200 NVL72 rack (72 GPUs)"),
    "GB300 NVL72 rack (72 GPUs)": _("GB300 NVL72 rack (72 GPUs)"),
    "Rack PDU 208 V 60 A three-phase (US)": _("Rack PDU 208 V 60 A three-phase (US)"),
    "Rack PDU 230 V 32 A single-phase": _("Rack PDU 230 V 32 A single-phase"),
    "Rack PDU 230 V 63 A single-phase": _("Rack PDU 230 V 63 A single-phase"),
    "Rack PDU 400 V 32 A three-phase (EU, China 380/400 V)": _("Rack PDU 400 V 32 A three-phase (EU, China 380/400 V)"),
    "Rack PDU 400 V 63 A three-phase (EU, China 380/400 V)": _("Rack PDU 400 V 63 A three-phase (EU, China 380/400 V)"),
    "Rack PDU 415 V 60 A three-phase (US)": _("Rack PDU 415 V 60 A three-phase (US)"),
    "1 per InfiniBand fabric; 2 from 64 GPU servers": _("1 per InfiniBand fabric; 2 from 64 GPU servers"),
    "1 per cluster from 8 GPU servers": _("1 per cluster from 8 GPU servers"),
    "2 per cluster from 4 GPU servers (high availability); +1 per 64 GPU servers": _(
        "2 per cluster from 4 GPU servers (high availability); +1 per 64 GPU servers"
    ),
    "2 per cluster from 4 GPU servers; 1 below": _("2 per cluster from 4 GPU servers; 1 below"),
    "2 per cluster when the storage system has no own gateway": _(
        "2 per cluster when the storage system has no own gateway"
    ),
    "typical (planning value)": _("typical (planning value)"),
    "derived: 1.25 x CPU TDP + 25 W per DIMM pair and per NIC + 20 W per drive": _(
        "derived: 1.25 x CPU TDP + 25 W per DIMM pair and per NIC + 20 W per drive"
    ),
    "typical (planning value, card without optics; no data sheet opened)": _(
        "typical (planning value, card without optics; no data sheet opened)"
    ),
    "208 V 60 A 3-phase": _("208 V 60 A 3-phase"),
    "230 V 32 A 1-phase": _("230 V 32 A 1-phase"),
    "230 V 63 A 1-phase": _("230 V 63 A 1-phase"),
    "400 V 32 A 3-phase": _("400 V 32 A 3-phase"),
    "400 V 63 A 3-phase": _("400 V 63 A 3-phase"),
    "415 V 60 A 3-phase": _("415 V 60 A 3-phase"),
}
