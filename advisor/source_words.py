"""Where an assumption comes from, in the reader's language: sentences of the engine that are shown as they stand."""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from catalog.source_texts import SOURCE_TEXTS

SOURCES: frozenset[str] = frozenset(
    (
        _(
            "ml-engineering notes (github:stas00/ml-engineering @ 744d01e), accelerator: best shape of "
            "mamf-finder against the dense peak"
        ),
        _(
            "ml-engineering notes (github:stas00/ml-engineering @ 744d01e): GPUs of one server differ by 5 % and "
            "more; the slowest sets the step"
        ),
        _(
            "ml-engineering notes (github:stas00/ml-engineering @ 744d01e), network: nccl-tests all_reduce, "
            "largest message, share of the one-way link rate"
        ),
        _("ml-engineering notes (github:stas00/ml-engineering @ 744d01e), network: 193.7 of 200 Gbit/s point to point"),
        _(
            "ml-engineering notes (github:stas00/ml-engineering @ 744d01e), network: 4 x 8 B200 and H200, 73 to "
            "74 % of the NIC's line rate per NIC"
        ),
        _("need of the data loader of this job"),
        _("GPU-hours of the whole programme over those of this run"),
        _("the run alone: no experiments, failed runs or evaluation; give a factor to have them counted"),
        _("need of the checkpoint plan"),
        _("catalogue: rate stated for the systems offered, less 5 %"),
        _("checkpoint bytes over the write rate of the test before"),
        _(
            "no deadline was given: least cost among clusters that finish within 90 days; published runs took 21 "
            "(LLaMA), 54 (Llama 3) and 118 days (BLOOM)"
        ),
        _("planning value: seven days in ten; the break-even use beside it says what it decides"),
        _("VNET Q3 2025 wholesale revenue over mean utilised power; holds the power it bills: an upper bound"),
        _("China industrial average 2024, 0.088 USD (china-briefing.com)"),
        _("CBRE H2 2025, US primary markets, 250 to 500 kW, asking rent without electricity"),
        _("US industrial average, EIA, 2026-01"),
        _("published runs: 0.5 M tokens at 1 B parameters, 4 M at 7 to 70 B, 16 M at 405 B; log-interpolated"),
        _("20 tokens per parameter, compute-optimal by arXiv:2203.15556; current open models train far past it"),
        _("usual framework of the method; decides which tensor is held in which type"),
        _("no GPU was named"),
        _("the newest, one before it in case the newest is damaged, and one that is being written; no published norm"),
        _(
            "one for the training process, four for the loader's workers, one for the collective library's proxy,"
            " one for the checkpoint writer, one for the system; a floor: DGX H100 has 14 cores a GPU, DGX A100 "
            "16"
        ),
        _("no published run on this GPU family: mean of the others"),
        _("calibrated on the published runs listed on the validation page"),
        _("paired logs of allocated and reserved memory in the public evidence"),
        _("vendor article: training is interrupted in 15 to 20 % of cloud runs (no base given)"),
        _("vendor article: under 1 % of runs on bare metal (no base given)"),
        _("5 years straight line, residual 0; the large operators book 5 to 6 years (10-K 2022 to 2024), others 4"),
        _("public build-or-rent model gpu-price-index, docs/methodology.md: 8 % a year"),
        _(
            "gpu-price-index, docs/methodology.md: 8 % of the price a year for support, spares, network and "
            "staff; next-business-day contracts 8 to 12 %"
        ),
        _(
            "The Llama 3 Herd of Models, arXiv:2407.21783 section 3.3.4, Table 5: 419 unexpected interruptions in"
            " 54 days on 16 384 H100"
        ),
        _(
            "Revisiting Reliability in Large-Scale Machine Learning Research Clusters, arXiv:2410.21680: 6.5 "
            "failures per 1000 node-days of 8 A100 (RSC-1, 11 months; quoted, not read in the paper)"
        ),
        _(
            "SemiAnalysis 2025, GB200 NVL72 field range 1 000 to 3 000 GPU-days between interruptions, midpoint "
            "(not peer reviewed)"
        ),
        _(
            "MegaScale, arXiv:2402.15627 section 6.3: detection and diagnosis under 10 minutes on average "
            "(transcribed); agrees with over 90 % effective time of Llama 3 and 97 % of ByteRobust "
            "(arXiv:2509.16293)"
        ),
        _(
            "about half of the 55.1 GB/s measured device to host on PCIe 5.0 x16 (8 x H200, ml-engineering "
            "network notes), 80 % of the 31 GB/s of PCIe 4.0 x16"
        ),
        _(
            "all ranks meet, collect their states and start the writers, whatever the size: between under 1 s "
            "with pinned memory and tens of seconds of plain asynchronous saving (torchtitan, documentation of "
            "async_mode); with 2 s the goodput of Llama 3 (over 90 %) and ByteRobust (97 %) is met within 2 "
            "points"
        ),
        _("arXiv:2407.21783 section 3.3.4: hardware, confirmed or suspected: about 78 % of unexpected interruptions"),
        _(
            "next-business-day part and a day of tests before return; no published figure. OPT-175B (about 2 "
            "machines down a day, 12 buffer hosts, metaseq chronicles) is met by it"
        ),
        _(
            "arXiv:2506.14551: compute-intensive training draws 76 % of the 10.2 kW rating of 8-GPU H100 servers;"
            " highest seen 8.4 kW = 82 % (arXiv:2412.08602)"
        ),
        _("method of a public build-or-rent model (gpu-price-index, docs/methodology.md): idle at 35 % of the maximum"),
        _("good air-cooled site; world average 1.54 in 2025 (Uptime Institute survey), new liquid-cooled 1.25 to 1.3"),
        # sides of the comparison
        _(
            "whole-GPU passthrough and whole-card vGPU: 0 to 6 % below bare metal (vSphere, KVM; facts on "
            "virtualization)"
        ),
        _("MLPerf Inference v1.1 on vSphere 7.0 U2, 3 x A100 whole-card vGPU: 94.4 % of bare metal"),
        _("bare-metal hosting articles: 10 to 30 % of GPU throughput; no measurement of whole GPUs supports it"),
        _("bare-metal hosting articles: at 20 % a run of 10 days takes 12.5"),
        _("bare-metal hosting articles: 10 to 30 % of GPU throughput"),
        # workload profiles
        _("numeric-sensitive work keeps fp32 gradients"),
        _("memory kept free because sequence and image sizes vary from batch to batch"),
        # acceptance tests
        _("a card that shows one during acceptance is replaced"),
        _("agreed length, 48 h unless changed: no published norm"),
        _("catalogue: maximum power of the server"),
        _("catalogue: memory that the driver shows"),
        _("cooling and supplies must bear the full load"),
        _("no published measurement of this part: record the result"),
        _("published interruption rate of the generation, 95 % Poisson quantile over the burn-in"),
        _("estimate less its error band from published runs"),
        # export status and other notes of the catalogue
        _("controlled for China since 2022-10"),
        _("controlled for China since 2023-10"),
        _("controlled for China since 2023-11 (2023-10 rule)"),
        _("controlled for China since 2023-10 (was the 2022 compliant variant)"),
        _("controlled for China since 2023-10 (was the 2023 compliant variant)"),
        _(
            "controlled for China since 2023-10; since 2026-01-15 H200-class and below: BIS case-by-case review for "
            "China/Macau exports from the US (licence still needed)"
        ),
        _("controlled for China since 2023-10 (above the 2026-01 case-by-case ceiling)"),
        _("controlled for China since 2023-10; 2026-01 case-by-case rule names MI325X"),
        _("controlled for China (RTX 5090 D is the China variant)"),
        _("compliant variant of 2023-10 rules; licence required since 2025-04; case-by-case since 2026-01-15"),
        _("China variant designed for 2023-10 rules"),
        _("below 2022-10 thresholds; check ECCN"),
        _("not licence-free for China; check ECCN"),
        _("not singled out in 2022-10/2023-10 lists; check ECCN"),
        _("2023-10 rules may apply by performance density; check ECCN"),
        _("performance in A100 class; controlled for China since 2022-10"),
        _("check ECCN"),
        _("as H20 96GB"),
        _("as 910B3"),
        _("Chinese part; US BIS 2025-05 guidance warns on use of Ascend 910B/C/D"),
        _("no BF16 hardware (FP16 125 TFLOPS with loss scaling only)"),
        _("not sold (superseded by B200); figures from a brief, unverified"),
        _("no dense BF16 rate; no memory bandwidth; no power figure (power and racks cannot be computed)"),
    )
)


def source_text(source: str) -> str:
    """The source in the active language; a bare citation, or what nobody has translated, stays as it is."""
    return gettext(source) if source in SOURCES else source


# Parts without a maker's model: their name is a description. Racks and power strips: `catalog.source_texts`.
GENERIC_PARTS: frozenset[str] = frozenset(
    (
        _("100G SR4 QSFP28 transceiver"),
        _("25G SFP28 DAC 3 m"),
        _("Cat 6 patch cable 3 m"),
    )
)

# Columns of the catalogue as a reader calls them.
FIELD_NAMES: dict[str, str] = {
    "memory_visible_mib": _("visible memory"),
    "min_cuda": _("lowest CUDA version"),
    "link_gb_s_bidirectional_per_gpu": _("scale-up rate"),
    "int8_dense_tops": _("INT8 dense rate"),
    "tf32_dense_tflops": _("TF32 dense rate"),
    "fp8_dense_tflops": _("FP8 dense rate"),
    "fp16_dense_tflops": _("FP16 dense rate"),
    "bf16_dense_tflops": _("BF16 dense rate"),
    "fp4_dense_tflops": _("FP4 dense rate"),
    "fp32_tflops": _("FP32 rate"),
    "fp64_tflops": _("FP64 rate"),
    "memory_bandwidth_gb_s": _("memory bandwidth"),
    "tdp_w": _("maximum power"),
    "launch_date": _("launch date"),
    "pcie_gen": _("PCIe generation"),
    "status": _("sales status"),
    "memory_gb": _("memory size"),
    "gpus_per_baseboard": _("GPUs on one baseboard"),
    "form_factor": _("form factor"),
    "memory_type": _("type of GPU memory"),
}


def part_text(name: str) -> str:
    """The name of a part in the active language; a maker's model stays as it is."""
    plain = name.removeprefix("generic ")
    if plain in SOURCE_TEXTS:
        return str(SOURCE_TEXTS[plain])
    return gettext(plain) if plain in GENERIC_PARTS else plain


def field_text(column: str) -> str:
    """What a column of the catalogue holds, in the active language."""
    return gettext(FIELD_NAMES[column]) if column in FIELD_NAMES else column.replace("_", " ")
