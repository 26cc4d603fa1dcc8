"""Frozen inputs of the engine: base units only (bytes, seconds, watts, FLOP/s), no Django, no defaults from claims."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum


class Origin(StrEnum):
    """Where a figure comes from; shown beside every assumption. A vendor claim is never a default."""

    DATASHEET = "datasheet"
    MEASURED = "measured"
    PUBLISHED_RUN = "published_run"
    VENDOR_CLAIM = "vendor_claim"
    DERIVED = "derived"
    USER = "user"


class Method(StrEnum):
    PRETRAIN = "pretrain"
    CONTINUED_PRETRAIN = "continued_pretrain"
    FULL_FINETUNE = "full_finetune"
    LORA = "lora"
    QLORA = "qlora"


class Precision(StrEnum):
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    MXFP8 = "mxfp8"
    FP4 = "fp4"
    FP32 = "fp32"
    TF32 = "tf32"


class Optimizer(StrEnum):
    ADAMW = "adamw"
    ADAMW_8BIT = "adamw_8bit"
    ADAFACTOR = "adafactor"
    SGD = "sgd"
    MUON = "muon"
    LION = "lion"


class Recipe(StrEnum):
    """Framework recipe: which tensor is held in which type, and how the allocator behaves."""

    MEGATRON = "megatron"
    FSDP = "fsdp"
    DEEPSPEED = "deepspeed"
    PURE_BF16 = "pure_bf16"


class Recomputation(StrEnum):
    NONE = "none"
    SELECTIVE = "selective"
    FULL = "full"


RECOMPUTATION_CODES: dict[Recomputation, int] = {
    Recomputation.NONE: 0,
    Recomputation.SELECTIVE: 1,
    Recomputation.FULL: 2,
}


class RecomputedPart(StrEnum):
    """Module that selective recomputation drops and computes again: the names of Megatron-LM's --recompute-modules."""

    CORE_ATTENTION = "core_attn"
    MLP = "mlp"  # of dense layers
    LAYERNORM = "layernorm"
    MOE_ACTIVATION = "moe_act"
    MOE = "moe"
    SHARED_EXPERTS = "shared_experts"
    MLA_UP_PROJECTION = "mla_up_proj"


class AttentionKernel(StrEnum):
    FLASH = "flash"
    EAGER = "eager"


class ModelKind(StrEnum):
    DECODER = "decoder"
    ENCODER = "encoder"
    VISION = "vision"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Architecture of a transformer. Counts are dimensionless; `ffn_size` is the dense layers' width.

    `expert_count` 0 means dense. `dense_layer_count` leading layers of a mixture-of-experts model are dense;
    `moe_layer_interval` k means that of the rest every k-th layer has experts.
    `published_parameter_count` is what the publisher states; formulas never use it.
    """

    name: str
    layer_count: int
    hidden_size: int
    ffn_size: int
    head_count: int
    kv_head_count: int
    head_size: int
    vocab_size: int
    kind: ModelKind = ModelKind.DECODER
    gated_ffn: bool = True
    tied_embeddings: bool = False
    learned_position_count: int = 0
    has_qkv_bias: bool = False
    has_output_bias: bool = False
    has_ffn_bias: bool = False
    norm_weight_vectors: int = 1  # 1: RMS (weight), 2: LayerNorm with bias
    norms_per_layer: int = 2
    has_qk_norm: bool = False
    # multi-head latent attention (DeepSeek-V2, arXiv:2405.04434): 0 where not used
    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    qk_nope_head_size: int = 0
    qk_rope_head_size: int = 0
    v_head_size: int = 0  # 0: same as head_size
    # sliding window: `window_layers_per_period` of each `window_period` layers see at most `sliding_window` tokens
    sliding_window: int = 0
    window_layers_per_period: int = 1
    window_period: int = 1
    expert_count: int = 0
    experts_per_token: int = 0
    expert_ffn_size: int = 0
    shared_expert_count: int = 0
    shared_expert_ffn_size: int = 0
    dense_layer_count: int = 0
    moe_layer_interval: int = 1
    mtp_layer_count: int = 0
    other_parameter_count: int = 0
    max_sequence_length: int = 0
    published_parameter_count: int | None = None
    published_active_parameter_count: int | None = None
    source: str = ""

    @property
    def is_moe(self) -> bool:
        return self.expert_count > 0

    @property
    def uses_mla(self) -> bool:
        return self.kv_lora_rank > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec:
    """One GPU. Peaks are dense. Bandwidths are bytes per second, links per direction."""

    sku: str
    name: str
    vendor: str
    architecture: str
    memory_bytes: int  # what the driver shows
    memory_label: str  # the vendor's label, a name and not a measurement ("80 GB")
    memory_bytes_per_second: float
    dense_peak_flops_per_second: dict[Precision, float]  # a missing precision is not supported in hardware
    scale_up_bytes_per_second: float  # NVLink-like; 0.0: none, the GPUs talk through PCIe
    scale_up_domain_size: int  # GPUs in one NVLink-like domain: 8, 4, 72; 1 without
    pcie_bytes_per_second: float
    tdp_watts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricSpec:
    """Links as a training job meets them, bytes per second per direction."""

    scale_out_bytes_per_second_per_gpu: float
    kind: str = "infiniband"  # "infiniband" | "roce" | "none"
    oversubscription: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentProfile:
    """Bare metal or virtualized. `throughput_loss_fraction` alone divides the step rate by exactly 1 / (1 - loss)."""

    code: str = "bare_metal"  # bare_metal | virtualized_dedicated | virtualized_shared
    throughput_loss_fraction: float = 0.0
    scale_up_bandwidth_factor: float = 1.0
    scale_out_bandwidth_factor: float = 1.0
    latency_factor: float = 1.0
    interruption_rate_factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """A measured run of the same job on the same kind of GPU, and what is predicted for it. [token/s a GPU]"""

    measured_tokens_per_second_per_gpu: float
    predicted_tokens_per_second_per_gpu: float
    gpu_count: int

    @property
    def rate_factor(self) -> float:
        """Measured over predicted: what every size of this GPU is multiplied by."""
        return self.measured_tokens_per_second_per_gpu / self.predicted_tokens_per_second_per_gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """The GPUs that a job gets."""

    gpu: GpuSpec
    gpu_count: int
    gpus_per_server: int
    fabric: FabricSpec
    deployment: DeploymentProfile = field(default_factory=DeploymentProfile)
    pilot: Pilot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSpec:
    rank: int = 16
    # which projections of a layer carry adapters: q k v o gate up down (plain FFN: up down)
    targets: tuple[str, ...] = ("q", "k", "v", "o", "gate", "up", "down")
    trains_embeddings_and_head: bool = False
    has_dropout: bool = True  # 0.05 in the usual recipes


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """What is trained, and how. `tokens` None: memory and step time only."""

    tokens: float | None
    sequence_length: int
    global_batch_size: int  # sequences per optimizer step
    method: Method = Method.PRETRAIN
    precision: Precision = Precision.BF16
    optimizer: Optimizer = Optimizer.ADAMW
    recipe: Recipe = Recipe.MEGATRON
    gradient_bytes_per_parameter: int | None = None  # None: the recipe's own (Megatron 4, others 2)
    uses_fused_loss: bool | None = None  # None: the recipe's own
    attention: AttentionKernel = AttentionKernel.FLASH
    # element-wise kernels fused and attention by the vendor's library (TransformerEngine, XLA); None: as Megatron does
    uses_fused_kernels: bool | None = None
    compiles_layers: bool = False  # torch.compile: keeps the inputs of fusible operations alone
    # collectives of tensor parallelism run beside the multiplications (Megatron-LM's --tp-comm-overlap, off by default)
    overlaps_tensor_parallel: bool = False
    # layers are launched as captured CUDA graphs; None: as the usual recipe of the GPU does (rack-scale parts: yes)
    uses_cuda_graphs: bool | None = None
    # tokens cross to another scale-up domain once, whatever experts await them there (DeepEP, HybridEP); else once for
    # each expert, as in the plain all-to-all
    deduplicates_dispatch: bool = False
    # exchanges run beside another micro-batch's layers (Megatron-LM's --overlap-moe-expert-parallel-comm, off unasked)
    overlaps_dispatch: bool = False
    # full recomputation ends before a layer's last product, whose result no gradient needs (PyTorch since 2.1 without
    # re-entry, XLA); Megatron-LM repeats the whole forward. None: as the recipe does
    stops_recomputation_early: bool | None = None
    # sharded weights are gathered in FP8 (torchtitan: enable_fsdp_float8_all_gather)
    gathers_fp8_weights: bool = False
    lora: LoraSpec | None = None
    double_quantization: bool = True
    offload: str = "none"  # none | optimizer | parameters
    offload_activations: bool = False  # inputs of recomputed layers rest in host memory
    optimizer_in_backward: bool = False
    # what selective recomputation computes again; empty: as the framework does unasked (Megatron: the attention core)
    recomputed_parts: tuple[RecomputedPart, ...] = ()
    # products that add to the gradients keep a 16-bit one of each shape beside (TransformerEngine from 2.3 on)
    has_gradient_scratch: bool = True
    whole_gradients: bool = False  # gradients accumulate unsharded (FSDP under no_sync)
    # what the data type of the parameters themselves is (recipe override), bytes; None: the recipe's own
    weight_bytes_per_parameter: float | None = None
    master_weight_bytes_per_parameter: int | None = None
    moment_bytes_per_parameter: float | None = None
    reserve_bytes: int = 0  # of the GPU's memory, kept free on the user's wish
    memory_headroom_fraction: float = 0.0
    dropout: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One choice of group sizes; tensor x pipeline x context x data = GPU count (expert lives inside)."""

    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    context_parallel: int = 1
    expert_parallel: int = 1
    expert_tensor_parallel: int = 1  # ranks that split one expert; 1 beside expert_parallel > 1 unless stated
    virtual_stage_count: int = 1
    micro_batch_size: int = 1
    zero_stage: int = 1
    recomputation: Recomputation = Recomputation.NONE
    recomputed_layer_fraction: float = (
        1.0  # share of the layers that FULL recomputes; below 1 the first ones of a stage
    )
    uses_sequence_parallel: bool = True
    shard_group_size: int | None = None  # HSDP: GPUs that share one sharded copy; None: the whole data-parallel group

    @property
    def gpu_count(self) -> int:
        return self.tensor_parallel * self.pipeline_parallel * self.context_parallel * self.data_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutRequest:
    """A layout given in part: None is searched."""

    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    context_parallel: int | None = None
    expert_parallel: int | None = None
    expert_tensor_parallel: int | None = None
    virtual_stage_count: int | None = None
    micro_batch_size: int | None = None
    zero_stage: int | None = None
    recomputation: Recomputation | None = None
    recomputed_layer_fraction: float | None = None
    uses_sequence_parallel: bool | None = None
    shard_group_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The question that the scalar estimate answers."""

    model: ModelSpec
    plan: TrainingPlan
    cluster: ClusterSpec
    layout: LayoutRequest = field(default_factory=LayoutRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why there is no answer, or what is wrong with one. The edge turns code and params into a sentence."""

    field: str  # JSON pointer
    code: str
    params: dict[str, float | int | str | None] = dataclasses.field(default_factory=dict)
    severity: str = "blocks"  # blocks | check | note


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    name: str
    value: float | int | str | bool | None
    unit: str
    origin: Origin
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """Bytes on the most loaded GPU, steady state. The named parts sum to allocated; device = reserved + overhead."""

    weight_bytes: float
    gradient_bytes: float
    optimizer_bytes: float
    activation_bytes: float
    logits_bytes: float
    buffer_bytes: float
    allocated_bytes: float
    reserved_bytes: float
    overhead_bytes: float
    total_bytes: float
    available_bytes: float
    fits: bool
    pipeline_stage: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlopsEstimate:
    model_flops_per_token: float
    hardware_flops_per_token: float
    total_model_flops: float | None
    six_n_d_flops: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeEstimate:
    step_seconds: float
    compute_seconds: float
    exposed_communication_seconds: float
    bubble_seconds: float
    optimizer_seconds: float
    tokens_per_second: float
    tokens_per_second_per_gpu: float
    model_flops_per_second_per_gpu: float
    mfu: float
    hfu: float
    step_count: int | None
    training_seconds: float | None
    training_seconds_low: float | None
    training_seconds_high: float | None
    goodput: float
    error_band_fraction: float  # 80 % band of the residuals of the nearest kind of run
    interruptions_expected: float | None
    checkpoint_interval_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The answer to a Scenario."""

    scenario: Scenario
    layout: Layout
    parameter_count: float
    active_parameter_count: float
    micro_batch_count: int
    global_batch_size: int
    memory: MemoryEstimate
    flops: FlopsEstimate
    time: TimeEstimate
    problems: tuple[Problem, ...]
    assumptions: tuple[Assumption, ...]
    evaluated_layout_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    deadline_seconds: float | None = None
    max_gpu_count: int = 4096
    gpu_count: int | None = None  # exactly this many
    max_cost: float | None = None  # in the currency of the options' cost_per_gpu_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareOption:
    """One server kind that search may take: its GPU, how many a server holds, and what an hour of one GPU costs.

    The cost only ranks; nothing is invoiced from it. None: no price is known, the option ranks after priced ones.
    """

    gpu: GpuSpec
    gpus_per_server: int
    fabric: FabricSpec
    cost_per_gpu_hour: float | None = None
    pilot: Pilot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The best layout of one GPU SKU and one cluster size."""

    option: HardwareOption
    estimate: Estimate
    cost: float | None
    labels: tuple[str, ...] = ()
