"""Shapes of the answers: JSON-able all through, the same dicts for page, API, commands and quotes.

Money is `{"amount": "1234.50", "currency": "CNY"}`, dates are ISO strings, and what cannot be computed is None with a
problem that says why.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from advisor.calculation_terms import StepAnswer

Scalar = float | int | str | bool | None
Params = dict[str, Scalar]


class MoneyAnswer(TypedDict):
    amount: str
    currency: str


class ProblemAnswer(TypedDict):
    field: str
    code: str
    message: str
    severity: str
    params: Params


class AssumptionAnswer(TypedDict):
    name: str
    label: str
    value: Scalar
    unit: str
    origin: str
    origin_label: str
    source: str


class LayoutAnswer(TypedDict):
    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    context_parallel: int
    expert_parallel: int
    expert_tensor_parallel: int
    virtual_stage_count: int
    micro_batch_size: int
    micro_batch_count: int
    zero_stage: int
    recomputation: str
    recomputed_layer_fraction: float
    recomputed_parts: list[str]
    uses_sequence_parallel: bool
    shard_group_size: int | None
    gpu_count: int
    global_batch_size: int
    global_batch_tokens: int


class MemoryAnswer(TypedDict):
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


class FlopsAnswer(TypedDict):
    model_flops_per_token: float
    hardware_flops_per_token: float
    total_model_flops: float | None
    six_n_d_flops: float | None


class TimeAnswer(TypedDict):
    step_seconds: float | None
    compute_seconds: float | None
    exposed_communication_seconds: float | None
    bubble_seconds: float | None
    optimizer_seconds: float | None
    tokens_per_second: float | None
    tokens_per_second_per_gpu: float | None
    model_flops_per_second_per_gpu: float | None
    mfu: float | None
    hfu: float | None
    step_count: int | None
    training_seconds: float | None
    goodput: float | None
    training_seconds_low: float | None
    training_seconds_high: float | None
    error_band_fraction: float | None
    interruptions_expected: float | None
    checkpoint_interval_seconds: float | None


class ClusterAnswer(TypedDict):
    gpu: str
    gpu_name: str
    gpu_count: int
    gpus_per_server: int
    server_count: int
    scale_out_bytes_per_second_per_gpu: float
    scale_out_gbit_per_second_per_gpu: float
    scale_out_kind: str
    dense_peak_flops_per_second_per_gpu: float | None
    sparse_peak_flops_per_second_per_gpu: float | None
    deployment: dict[str, Scalar]


class EstimatedJobAnswer(TypedDict):
    """One job on one cluster, as each configuration carries it."""

    model: dict[str, Scalar]
    training: dict[str, Scalar]
    cluster: ClusterAnswer
    layout: LayoutAnswer
    memory_per_gpu: MemoryAnswer
    flops: FlopsAnswer
    time: TimeAnswer
    nearest_run: NotRequired[dict[str, Any] | None]
    problems: list[ProblemAnswer]
    assumptions: list[AssumptionAnswer]
    evaluated_layout_count: int
    engine_version: str
    catalog_revision: str


class VariedPointAnswer(TypedDict):
    """One end of an input's range; `reason` says why there are no days."""

    value: float
    training_days: float | None
    price: MoneyAnswer | None
    reason: str | None


class VariedInputAnswer(TypedDict):
    name: str
    label: str
    unit: str
    origin: str
    origin_label: str
    source: str
    low: VariedPointAnswer
    base: VariedPointAnswer
    high: VariedPointAnswer


class TokensTableAnswer(TypedDict):
    """Days by tokens (rows) and GPU count (columns)."""

    tokens: list[float]
    gpu_counts: list[int]
    training_days: list[list[float | None]]


class BreakPointAnswer(TypedDict):
    code: str
    message: str
    params: Params


class SensitivityAnswer(TypedDict):
    inputs: list[VariedInputAnswer]
    price_inputs: list[VariedInputAnswer]
    tokens_by_gpu_count: TokensTableAnswer
    break_points: list[BreakPointAnswer]


class ProgrammeAnswer(TypedDict):
    """What all training of the programme takes, this run, experiments and failed runs together."""

    factor: float
    gpu_hours: float | None
    training_days: float | None
    cost: MoneyAnswer | None
    text: str


class EstimateAnswer(EstimatedJobAnswer):
    """The answer of its own; with the sensitivity where it was asked for."""

    programme: NotRequired[ProgrammeAnswer | None]
    sensitivity: NotRequired[SensitivityAnswer | None]
    calculation: NotRequired[list[StepAnswer]]


class LineAnswer(TypedDict):
    """One line of the bill of materials; `part_of` names the line that a price of a complete server covers."""

    sku: str
    kind: str
    name: str
    quantity: int
    unit: str
    reason: str
    source_rule: str
    part_of: str | None


class CheckAnswer(TypedDict):
    code: str
    severity: str
    message: str
    parts: list[str]
    figures: Params


class PriceLineAnswer(TypedDict):
    sku: str
    kind: str
    name: str
    quantity: int
    unit: str
    unit_price: MoneyAnswer | None
    amount: MoneyAnswer | None
    tax_rate: str
    origin_mark: str
    as_of: str | None
    is_indicative: bool
    reason: str
    source_rule: str
    lead_time_days: int | None


class MissingPriceAnswer(TypedDict):
    sku: str
    book: str
    date: str
    message: str


class TaxGroupAnswer(TypedDict):
    rate: str
    base: MoneyAnswer
    tax: MoneyAnswer


class PriceBookAnswer(TypedDict):
    code: str
    name: str
    valid_from: str
    as_of: str
    is_indicative: bool
    note: str


class PricesAnswer(TypedDict):
    basis: str
    currency: str
    term_months: int | None
    lines: list[PriceLineAnswer]
    is_complete: bool
    missing: list[MissingPriceAnswer]
    subtotal: MoneyAnswer
    tax_groups: list[TaxGroupAnswer]
    tax: MoneyAnswer
    total: MoneyAnswer
    monthly: MoneyAnswer | None
    deposit: MoneyAnswer | None
    price_book: PriceBookAnswer


class BothPricesAnswer(TypedDict):
    rental: PricesAnswer | None
    purchase: PricesAnswer | None


class ConfigurationAnswer(TypedDict):
    labels: list[str]
    gpu: str
    gpu_name: str
    gpu_count: int
    server: str
    server_name: str
    server_count: int
    spare_server_count: int
    gpus_per_server: int
    training_days: float | None
    training_days_low: float | None
    training_days_high: float | None
    meets_deadline: bool | None
    gpu_hours: float | None
    estimate: EstimatedJobAnswer
    bill_of_materials: list[LineAnswer]
    network: dict[str, Any]
    storage: dict[str, Any]
    power: dict[str, Any]
    reliability: dict[str, Any]
    software: dict[str, Any]
    acceptance: list[dict[str, Any]]
    nearest_run: dict[str, Any] | None
    checks: list[CheckAnswer]
    prices: BothPricesAnswer
    price_problems: list[ProblemAnswer]
    run_cost: MoneyAnswer | None
    lead_days: float
    finish_days: float | None
    programme: ProgrammeAnswer | None
    tuning: dict[str, Any] | None
    upgrade: list[dict[str, Any]]
    reasons: list[str]


class TierAnswer(TypedDict):
    code: str
    name: str
    lower_parameter_count: float
    upper_parameter_count: float | None
    reference_build: dict[str, Any]
    reference_build_suffices: bool
    reason: str
    claim: dict[str, Any] | None


class RequirementAnswer(TypedDict):
    model_state_bytes: float
    total_model_flops: float | None
    sustained_flops_per_second: float | None
    dense_peak_flops_per_second: float | None
    minimum_gpu_count_for_memory: int | None
    binding_constraint: str
    binding_constraint_reason: str


class RejectionAnswer(TypedDict):
    gpu: str
    gpu_name: str
    code: str
    message: str
    params: Params


class SideAnswer(TypedDict):
    """One side of the comparison of bare metal against virtualized."""

    training_days: float | None
    gpu_hours: float | None
    interruptions: float | None
    goodput: float | None
    tokens_per_day: float | None
    tokens_lost_per_day: float | None
    samples_lost_per_day: float | None
    energy_kilowatt_hours: float | None
    price: dict[str, Any] | None


class DeploymentComparisonAnswer(TypedDict):
    bare_metal: SideAnswer
    virtualized: SideAnswer
    throughput_loss: float | None
    presets: list[dict[str, Any]]
    advice: str
    must_be_bare_metal: bool
    reasons: list[str]
    controls: list[dict[str, str]]
    faq: list[dict[str, str]]


class UtilisationCostAnswer(TypedDict):
    """Cost over the horizon at a share of use: rent by the hour, and owning less what the hardware is still worth."""

    utilisation_fraction: float
    rental: float
    purchase: float


class RentOrBuyAnswer(TypedDict):
    months: list[int]
    rental_cumulative: list[float]
    purchase_cumulative: list[float]
    currency: str
    break_even_month: float | None
    utilisation_fraction: float
    break_even_utilisation_fraction: float | None
    horizon_months: int
    net_break_even_month: int | None  # when what the hardware is still worth counts
    rental_present_value: float | None
    purchase_present_value: float | None
    purchase_advantage_present_value: float | None
    rental_cost_per_useful_gpu_hour: float | None
    purchase_cost_per_useful_gpu_hour: float | None
    costs_by_utilisation: list[UtilisationCostAnswer]
    advice: str
    problems: list[ProblemAnswer]
    assumptions: list[AssumptionAnswer]


class WithinBudgetAnswer(TypedDict):
    """The most that a budget trains on one configuration."""

    budget: MoneyAnswer
    gpu: str
    gpu_count: int
    gpu_hours: float
    tokens: float
    training_days: float
    compute_optimal_parameter_count: float
    text: str


class HeadlineAnswer(TypedDict):
    """The question that was asked (cluster, site, deadline, budget, value), and its answer in one sentence."""

    question: str
    text: str


class RecommendationAnswer(TypedDict):
    headline: HeadlineAnswer
    within_budget: WithinBudgetAnswer | None
    tier: TierAnswer | None
    model: dict[str, Scalar]
    training: dict[str, Scalar]
    requirement: RequirementAnswer
    recommended: ConfigurationAnswer | None
    alternatives: list[ConfigurationAnswer]
    rejected: list[RejectionAnswer]
    deployment_comparison: DeploymentComparisonAnswer | None
    rent_or_buy: RentOrBuyAnswer | None
    scaling: list[dict[str, Any]]
    pareto: list[dict[str, Any]]
    sensitivity: SensitivityAnswer | None
    calculation: NotRequired[list[StepAnswer]]
    explanation: list[str]
    evaluated_layout_count: int
    problems: list[ProblemAnswer]
    assumptions: list[AssumptionAnswer]
    engine_version: str
    catalog_revision: str
