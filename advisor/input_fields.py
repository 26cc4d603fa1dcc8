"""The one table of input fields: name, place in the JSON body, name in a link, kind, bounds, default and words.

The page's form, the JSON API, its OpenAPI document, links and the commands are all made from these rows, so that a
bound or a default is written once.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from advisor.engine.specs import AttentionKernel, Method, Optimizer, Precision, Recipe, Recomputation, RecomputedPart
from advisor.input_kinds import (
    ESTIMATE,
    RECOMMENDATION,
    FieldKind,
    InputField,
    Text,
    choices_of,
    count_row,
    factor_row,
    whole_row,
)
from advisor.input_run import RUN_FIELDS
from advisor.ownership_fields import OWNERSHIP_FIELDS
from advisor.quantities import SECONDS_PER_DAY, Kind
from catalog.money import MINOR_UNITS

_ESTIMATE_ONLY = frozenset({ESTIMATE})
_RECOMMENDATION_ONLY = frozenset({RECOMMENDATION})

METHODS = choices_of(
    (Method.PRETRAIN.value, _("Pretraining")),
    (Method.CONTINUED_PRETRAIN.value, _("Continued pretraining")),
    (Method.FULL_FINETUNE.value, _("Full fine-tuning")),
    (Method.LORA.value, _("LoRA fine-tuning")),
    (Method.QLORA.value, _("QLoRA fine-tuning")),
)
PRECISIONS = choices_of(
    (Precision.BF16.value, "BF16"),
    (Precision.FP16.value, "FP16"),
    (Precision.FP8.value, "FP8"),
    (Precision.MXFP8.value, "MXFP8"),
    (Precision.FP4.value, "FP4"),
    (Precision.TF32.value, "TF32"),
    (Precision.FP32.value, "FP32"),
)
OPTIMIZERS = choices_of(
    (Optimizer.ADAMW.value, "AdamW"),
    (Optimizer.ADAMW_8BIT.value, _("AdamW, 8-bit states")),
    (Optimizer.ADAFACTOR.value, "Adafactor"),
    (Optimizer.SGD.value, _("SGD with momentum")),
    (Optimizer.MUON.value, "Muon"),
    (Optimizer.LION.value, "Lion"),
)
RECIPES = choices_of(
    (Recipe.MEGATRON.value, "Megatron-LM"),
    (Recipe.FSDP.value, "PyTorch FSDP"),
    (Recipe.DEEPSPEED.value, "DeepSpeed ZeRO"),
    (Recipe.PURE_BF16.value, _("Pure BF16")),
)
PROFILES = choices_of(
    ("bare_metal", _("Bare metal")),
    ("virtualized_dedicated", _("Virtualized, whole server dedicated")),
    ("virtualized_shared", _("Virtualized, shared by several tenants")),
)
TEXT_LANGUAGES = choices_of(
    ("en", _("English")), ("zh", _("Chinese")), ("code", _("Source code")), ("mixed", _("Many languages"))
)
CURRENCIES = tuple((code, code) for code in MINOR_UNITS)

MODEL_FIELDS = (
    count_row(
        "parameters", "/model/parameters", _("Parameters"), "1e6", "1e14", quantity=Kind.COUNT, query="parameters",
        help=_("All parameters of the model, such as 7B or 70B. The shape is inferred and shown."),
        example="70B", is_simple=True,
    ),
    count_row(
        "active_parameters", "/model/active_parameters", _("Active parameters"), "1e5", "1e14", quantity=Kind.COUNT,
        query="active_parameters",
        help=_("Mixture of experts only: parameters that one token passes through."), example="37B",
    ),
    InputField(
        name="preset", pointer="/model/preset", kind=FieldKind.TEXT, label=_("Known model"), query="preset",
        help=_("A published architecture, instead of a parameter count."), example="llama-3-70b", is_simple=True,
    ),
    InputField(
        name="config", pointer="/model/config", kind=FieldKind.OBJECT, label=_("Model configuration"),
        query="config", help=_("The content of a Hugging Face config.json."),
    ),
    InputField(
        name="architecture", pointer="/model/architecture", kind=FieldKind.OBJECT, label=_("Architecture"),
        help=_("Layer count, hidden size and the other dimensions by name."),
    ),
)  # fmt: skip

TRAINING_FIELDS = (
    count_row(
        "tokens", "/training/tokens", _("Training tokens"), "1", "1e15", quantity=Kind.TOKENS, query="tokens",
        help=_("Tokens seen in the whole run, such as 1.4T or 300B. Left out: 20 per parameter are proposed."),
        unit=_("tokens"), example="1.4T", is_simple=True,
    ),
    count_row(
        "samples", "/training/tokens/samples", _("Samples"), "1", "1e13", quantity=Kind.COUNT, query="samples",
        help=_("With length and epochs, instead of a token count."), example="50000",
    ),
    whole_row(
        "sample_length", "/training/tokens/sequence_length", _("Tokens per sample"), 1, 16_777_216,
        query="sample_length", unit=_("tokens"), help=_("Average length of one sample."), example="8192",
    ),
    count_row(
        "epochs", "/training/tokens/epochs", _("Epochs"), "0.001", "1e4", query="epochs",
        help=_("How often the data set is read."), example="3",
    ),
    count_row(
        "gigabytes", "/training/tokens/gigabytes", pgettext_lazy("data set", "Text"), "1e-6", "1e9",
        query="gigabytes", unit="GB",
        help=_("Size of the plain text in UTF-8, instead of a token count. 1 GB is 10^9 bytes."), example="500",
    ),
    InputField(
        name="text_language", pointer="/training/tokens/language", kind=FieldKind.CHOICE,
        label=_("Language of the text"), choices=TEXT_LANGUAGES, query="text_language", example="zh",
        help=_("Decides how many bytes make a token; the figure used is shown as an assumption."),
    ),
    InputField(
        name="method", pointer="/training/method", kind=FieldKind.CHOICE, label=_("Training method"), choices=METHODS,
        default=Method.PRETRAIN.value, query="method", is_simple=True, example=Method.PRETRAIN.value,
        help=_("What is trained: all weights, or adapters beside frozen weights."),
    ),
    InputField(
        name="precision", pointer="/training/precision", kind=FieldKind.CHOICE, label=_("Precision"),
        choices=PRECISIONS, default=Precision.BF16.value, query="precision",
        default_source=_("The usual choice of published runs since 2021."),
        help=_("Type of the matrix products."), example=Precision.BF16.value,
    ),
    InputField(
        name="optimizer", pointer="/training/optimizer", kind=FieldKind.CHOICE, label=_("Optimizer"),
        choices=OPTIMIZERS, default=Optimizer.ADAMW.value, query="optimizer",
        help=_("Decides how many bytes of state a parameter carries."), example=Optimizer.ADAMW.value,
    ),
    whole_row(
        "sequence_length", "/training/sequence_length", _("Sequence length"), 1, 16_777_216, default=4096,
        query="sequence_length", unit=_("tokens"), default_source=_("Llama 2, arXiv:2307.09288."),
        help=_("Tokens of one training sequence."), example="4096",
    ),
    whole_row(
        "global_batch_size", "/training/global_batch_size", _("Global batch, sequences"), 1, 16_777_216,
        query="global_batch_size", unit=_("sequences"), help=_("Sequences per optimizer step."), example="1024",
    ),
    count_row(
        "global_batch_tokens", "/training/global_batch_tokens", _("Global batch, tokens"), "1", "1e12",
        quantity=Kind.TOKENS, query="global_batch_tokens", unit=_("tokens"),
        help=_("Tokens per optimizer step. Left out: a default by model size, shown as an assumption."),
        example="4194304",
    ),
    InputField(
        name="recipe", pointer="/training/recipe", kind=FieldKind.CHOICE, label=_("Framework recipe"), choices=RECIPES,
        query="recipe", help=_("Which tensor is held in which type. Left out: Megatron-LM for pretraining."),
        example=Recipe.MEGATRON.value,
    ),
    InputField(
        name="gradient_dtype", pointer="/training/gradient_dtype", kind=FieldKind.CHOICE, label=_("Gradient type"),
        choices=choices_of(("bf16", "BF16"), ("fp32", "FP32")), query="gradient_dtype",
        help=_("Left out: the recipe's own."), example="fp32",
    ),
    InputField(
        name="fused_loss", pointer="/training/fused_loss", kind=FieldKind.FLAG, label=_("Fused loss"),
        query="fused_loss", help=_("The loss is computed without a copy of the logits. Left out: the recipe's own."),
    ),
    InputField(
        name="attention", pointer="/training/attention", kind=FieldKind.CHOICE, label=_("Attention kernel"),
        choices=choices_of(
            (AttentionKernel.FLASH.value, "FlashAttention"), (AttentionKernel.EAGER.value, _("Unfused"))
        ),
        default=AttentionKernel.FLASH.value, query="attention", example=AttentionKernel.FLASH.value,
        help=_("Unfused attention keeps a square of the sequence length."),
    ),
    InputField(
        name="offload", pointer="/training/offload", kind=FieldKind.CHOICE, label=_("Offload to host memory"),
        choices=choices_of(
            ("none", pgettext_lazy("offload", "Nothing")),
            ("optimizer", _("Optimizer states")),
            ("parameters", _("Optimizer and weights")),
        ),
        default="none", query="offload", help=_("Trades GPU memory for PCIe time."), example="none",
    ),
    whole_row(
        "lora_rank", "/training/lora/rank", _("LoRA rank"), 1, 4096, default=16, query="lora_rank",
        default_source=_("LoRA, arXiv:2106.09685."), help=_("Width of an adapter."), example="16",
    ),
    InputField(
        name="lora_targets", pointer="/training/lora/targets", kind=FieldKind.CHOICES, label=_("LoRA targets"),
        choices=tuple((code, code) for code in ("q", "k", "v", "o", "gate", "up", "down")), query="lora_target",
        help=_("Projections that carry adapters. Left out: all of them."),
    ),
    InputField(
        name="lora_embeddings", pointer="/training/lora/trains_embeddings_and_head", kind=FieldKind.FLAG,
        label=_("Train embeddings and head"), query="lora_embeddings", default=False,
        help=_("Beside the adapters."),
    ),
)  # fmt: skip

DEPLOYMENT_FIELDS = (
    InputField(
        name="profile", pointer="/deployment/profile", kind=FieldKind.CHOICE, label=_("Deployment"), choices=PROFILES,
        aliases=(("virtualized", "virtualized_dedicated"),), default="bare_metal", query="profile", is_simple=True,
        help=_("Bare metal, or virtual machines."), example="bare_metal",
    ),
    InputField(
        name="throughput_loss", pointer="/deployment/throughput_loss", kind=FieldKind.FRACTION,
        label=_("Throughput loss"), minimum=Decimal(0), maximum=Decimal("0.95"), query="throughput_loss",
        help=_("Share of the throughput that virtualization costs, 0.2 or 20%; the step time is divided by 1 - loss."),
        example="0.2",
    ),
    factor_row("scale_up_bandwidth_factor", _("Bandwidth left inside the server"), "0.01", "1",
            _("Share of the bare-metal bandwidth that remains between GPUs of one server.")),
    factor_row("scale_out_bandwidth_factor", _("Bandwidth left between servers"), "0.01", "1",
            _("Share of the bare-metal bandwidth that remains between servers.")),
    factor_row("latency_factor", _("Latency factor"), "1", "1000", _("How many times the bare-metal latency.")),
    factor_row("interruption_rate_factor", _("Interruption factor"), "0.01", "1000",
            _("How many times the bare-metal rate of interruptions.")),
)  # fmt: skip

CLUSTER_FIELDS = (
    InputField(
        name="gpu", pointer="/cluster/gpu", kind=FieldKind.TEXT, label=_("GPU"), routes=_ESTIMATE_ONLY,
        help=_("Catalogue key of the GPU."), example="nvidia-h100-sxm5-80gb",
    ),
    whole_row("gpu_count", "/cluster/gpu_count", _("GPUs"), 1, 131_072, routes=_ESTIMATE_ONLY, example="512",
              help=_("Left out: the smallest count that fits.")),
    whole_row("gpus_per_server", "/cluster/gpus_per_server", _("GPUs per server"), 1, 128, routes=_ESTIMATE_ONLY,
              help=_("Left out: as the GPU is sold."), example="8"),
    count_row("scale_out_gbit_per_second_per_gpu", "/cluster/scale_out_gbit_per_second_per_gpu",
              _("Network per GPU"), "0.1", "100000", routes=_ESTIMATE_ONLY, unit="Gbit/s", example="400",
              help=_("Rate of the network between servers, per GPU and direction. Left out: as the server is sold.")),
)  # fmt: skip


def _layout(name: str, label: Text, low: int, high: int, help: Text, example: str) -> InputField:
    return whole_row(name, f"/layout/{name}", label, low, high, help=help, routes=_ESTIMATE_ONLY, example=example)


LAYOUT_FIELDS = (
    _layout("tensor_parallel", _("Tensor parallel"), 1, 1024, _("GPUs that share each matrix."), "8"),
    _layout("pipeline_parallel", _("Pipeline parallel"), 1, 1024, _("Groups of layers in a row."), "4"),
    _layout("context_parallel", _("Context parallel"), 1, 1024, _("GPUs that share one sequence."), "1"),
    _layout("expert_parallel", _("Expert parallel"), 1, 4096, _("GPUs that share the experts of a layer."), "1"),
    _layout("virtual_stage_count", _("Virtual stages"), 1, 256, _("Model chunks per pipeline rank."), "1"),
    _layout("micro_batch_size", _("Micro-batch"), 1, 4096, _("Sequences in one forward pass."), "1"),
    _layout("zero_stage", _("ZeRO stage"), 0, 3, _("What data-parallel ranks shard; 3 is fully sharded."), "1"),
    InputField(
        name="recomputation", pointer="/layout/recomputation", kind=FieldKind.CHOICE, routes=_ESTIMATE_ONLY,
        label=_("Activation recomputation"), help=_("What is thrown away and computed again."), example="selective",
        choices=choices_of(
            (Recomputation.NONE.value, pgettext_lazy("recomputation", "None")),
            (Recomputation.SELECTIVE.value, pgettext_lazy("recomputation", "Selective")),
            (Recomputation.FULL.value, pgettext_lazy("recomputation", "Full")),
        ),
    ),
    InputField(
        name="recomputed_parts", pointer="/layout/recomputed_parts", kind=FieldKind.CHOICES, routes=_ESTIMATE_ONLY,
        label=_("Recomputed parts"), choices=tuple((part.value, part.value) for part in RecomputedPart),
        help=_("With selective recomputation, as Megatron-LM names its modules. Left out: the attention core."),
    ),
    InputField(
        name="uses_sequence_parallel", pointer="/layout/uses_sequence_parallel", kind=FieldKind.FLAG,
        label=_("Sequence parallel"), help=_("Splits norms and dropout along the tensor group."),
        routes=_ESTIMATE_ONLY,
    ),
    _layout("shard_group_size", _("Shard group"), 1, 131_072, _("GPUs that hold one sharded copy (HSDP)."), "8"),
    InputField(
        name="includes_sensitivity", pointer="/sensitivity", kind=FieldKind.FLAG, label=_("Sensitivity"),
        default=False, routes=_ESTIMATE_ONLY,
        help=_("Adds how the days move with each input, by tokens and GPUs, and the break points."),
    ),
)  # fmt: skip

RECOMMENDATION_FIELDS = (
    InputField(
        name="deadline", pointer="/target/deadline_days", kind=FieldKind.QUANTITY, quantity=Kind.DURATION,
        label=_("Deadline"), minimum=Decimal(0), is_minimum_excluded=True, maximum=Decimal(3650),
        scale=Decimal(SECONDS_PER_DAY), unit=_("days"), query="deadline_days", is_simple=True, example="30",
        help=_("Days until the run must be finished: 30, 6w, 3 months."), routes=_RECOMMENDATION_ONLY,
    ),
    count_row("budget_amount", "/target/budget/amount", _("Budget"), "1", "1e15", quantity=Kind.MONEY, query="budget",
              help=_("For the whole run when rented, for the hardware when bought."), is_simple=True,
              example=pgettext_lazy("budget", "5M"), routes=_RECOMMENDATION_ONLY),
    InputField(
        name="budget_currency", pointer="/target/budget/currency", kind=FieldKind.CHOICE, choices=CURRENCIES,
        label=_("Currency of the budget"), query="budget_currency", routes=_RECOMMENDATION_ONLY, example="CNY",
        help=_("Left out: the currency of the prices."),
    ),
    InputField(
        name="gpus", pointer="/hardware/gpus", kind=FieldKind.TEXTS, label=_("GPUs to consider"), query="gpu",
        help=_("Left out: every GPU of the catalogue that can be sized."), is_simple=True,
        example="nvidia-h100-sxm5-80gb", routes=_RECOMMENDATION_ONLY,
    ),
    whole_row("fixed_gpu_count", "/hardware/gpu_count", _("Exact number of GPUs"), 1, 131_072, query="gpu_count",
              help=_("To see what a given cluster does. Left out: searched."), example="512",
              routes=_RECOMMENDATION_ONLY),
    whole_row("max_gpu_count", "/hardware/max_gpu_count", _("Most GPUs"), 1, 16_384, default=4096,
              query="max_gpu_count", help=_("Upper end of the search."), routes=_RECOMMENDATION_ONLY, example="4096"),
    InputField(
        name="basis", pointer="/commercial/basis", kind=FieldKind.CHOICE, label=_("Rent or buy"), default="compare",
        choices=choices_of(("compare", _("Compare both")), ("rental", _("Rental")), ("purchase", _("Purchase"))),
        query="basis", help=_("Which prices are shown."), routes=_RECOMMENDATION_ONLY, example="compare",
    ),
    whole_row("term_months", "/commercial/term_months", _("Rental term"), 1, 120, default=12, query="term_months",
              unit=_("months"), help=_("Length of the rental contract."), routes=_RECOMMENDATION_ONLY, example="12"),
    InputField(
        name="currency", pointer="/commercial/currency", kind=FieldKind.CHOICE, label=_("Currency"), default="CNY",
        choices=CURRENCIES, query="currency", help=_("Currency of the prices."), routes=_RECOMMENDATION_ONLY,
        example="CNY",
    ),
    InputField(
        name="workload", pointer="/profile/workload", kind=FieldKind.CHOICE, label=_("Workload"), default="general",
        choices=choices_of(
            ("general", _("General")), ("numeric_sensitive", _("Numerically sensitive")),
            ("generative", _("Generative")), ("multimodal", _("Multimodal")),
        ),
        query="workload", help=_("Changes reserves and checks, not the arithmetic."), routes=_RECOMMENDATION_ONLY,
        example="general",
    ),
    InputField(
        name="data_sensitivity", pointer="/profile/data_sensitivity", kind=FieldKind.CHOICE, default="internal",
        label=_("Data sensitivity"), query="data_sensitivity", routes=_RECOMMENDATION_ONLY, example="internal",
        choices=choices_of(
            ("public", pgettext_lazy("data", "Public")),
            ("internal", pgettext_lazy("data", "Internal")),
            ("regulated", pgettext_lazy("data", "Regulated")),
        ),
        help=_("Regulated data asks for a dedicated deployment."),
    ),
    InputField(
        name="real_time", pointer="/profile/real_time", kind=FieldKind.FLAG, label=_("Serves in real time"),
        default=False, query="real_time", routes=_RECOMMENDATION_ONLY,
        help=_("The cluster also answers requests with a latency target."),
    ),
    count_row("max_it_kilowatts", "/site/max_it_kilowatts", _("IT power of the site"), "0.1", "1e6",
              quantity=Kind.WATTS, scale=Decimal(1000), query="max_it_kilowatts", unit="kW", example="200",
              help=_("What the servers, network and storage may draw together."), routes=_RECOMMENDATION_ONLY),
    whole_row("max_racks", "/site/max_racks", _("Racks of the site"), 1, 100_000, query="max_racks", unit=_("racks"),
              help=_("Free racks."), routes=_RECOMMENDATION_ONLY, example="5"),
    InputField(
        name="cooling", pointer="/site/cooling", kind=FieldKind.CHOICE, label=_("Cooling of the site"),
        choices=choices_of(("air", _("Air")), ("liquid", _("Liquid"))), query="cooling", example="air",
        help=_("Left out: both."), routes=_RECOMMENDATION_ONLY,
    ),
    InputField(
        name="destination", pointer="/site/destination", kind=FieldKind.TEXT, label=_("Country of the site"),
        query="destination", example="CN", routes=_RECOMMENDATION_ONLY,
        help=_("Two letters (ISO 3166), for notes on export control."),
    ),
    whole_row("limit", "/limit", _("Configurations shown"), 1, 20, default=5, query="limit",
              routes=_RECOMMENDATION_ONLY, help=_("The recommended one and its alternatives."), example="5"),
)  # fmt: skip

DEPLOYMENT_PARENT = {ESTIMATE: "/cluster", RECOMMENDATION: "/hardware"}


def _placed(row: InputField, route: str) -> tuple[str, InputField]:
    parent = DEPLOYMENT_PARENT[route] if row.pointer.startswith("/deployment/") else ""
    return f"{parent}{row.pointer}", row


def _table(route: str) -> dict[str, InputField]:
    rows: tuple[InputField, ...] = MODEL_FIELDS + TRAINING_FIELDS + CLUSTER_FIELDS + LAYOUT_FIELDS
    rows += RUN_FIELDS + RECOMMENDATION_FIELDS + OWNERSHIP_FIELDS + DEPLOYMENT_FIELDS
    return dict(_placed(row, route) for row in rows if route in row.routes)


# pointer in the body -> row, in the order in which pages show them
TABLE: dict[str, dict[str, InputField]] = {route: _table(route) for route in (ESTIMATE, RECOMMENDATION)}
BY_QUERY: dict[str, tuple[str, InputField]] = {
    row.query: (pointer, row) for pointer, row in TABLE[RECOMMENDATION].items() if row.query
}


def _objects(route: str) -> dict[str, tuple[str, ...]]:
    known: dict[str, dict[str, None]] = {}
    for pointer in TABLE[route]:
        parts = pointer.split("/")
        for depth in range(1, len(parts)):
            known.setdefault("/".join(parts[:depth]), {})[parts[depth]] = None
    return {pointer: tuple(names) for pointer, names in known.items()}


# pointer of every object of the body -> names that it may hold; "" is the body itself
OBJECTS: dict[str, dict[str, tuple[str, ...]]] = {route: _objects(route) for route in TABLE}


def labels() -> Iterator[Text]:
    """Every word of the table, for tests of the translation."""
    for rows in TABLE.values():
        for row in rows.values():
            yield from (row.label, row.help, row.unit, row.default_source, *(label for _code, label in row.choices))
