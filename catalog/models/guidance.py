"""Tiers, reference builds, software stacks and model architectures: advice as data that an editor can change."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from catalog.models.part import Part, not_negative, positive
from catalog.querysets import PartQuerySet, ReferenceBuildQuerySet, TierQuerySet


class Tier(Part):
    """A class of models by total parameters; `sku` is the code. The lower bound belongs to the tier, the upper not."""

    kind_code = "tiers"

    name_zh = models.CharField(_("Chinese name"), max_length=200)
    lower_parameter_count = models.BigIntegerField(_("from, parameters"))
    upper_parameter_count = models.BigIntegerField(_("below, parameters"), null=True, blank=True)
    claim_id = models.CharField(_("claim"), max_length=20, blank=True, default="")
    claim_name = models.TextField(_("what the claim calls it"), blank=True, default="")
    claim_name_zh = models.TextField(_("what the claim calls it, in Chinese"), blank=True, default="")
    example_uses = models.TextField(_("examples"), blank=True, default="")
    example_uses_zh = models.TextField(_("examples in Chinese"), blank=True, default="")
    claim_build_sku = models.CharField(_("claimed build"), max_length=80, blank=True, default="")
    reference_build_sku = models.CharField(_("reference build"), max_length=80, blank=True, default="")
    origin = models.TextField(_("origin"), blank=True, default="")

    objects = TierQuerySet["Tier"].as_manager()

    class Meta:
        ordering = ["lower_parameter_count"]
        verbose_name = _("tier")
        verbose_name_plural = _("tiers")
        constraints = [
            *not_negative("tier", "lower_parameter_count"),
            models.CheckConstraint(
                name="catalog_tier_bounds_in_order",
                condition=models.Q(upper_parameter_count__isnull=True)
                | models.Q(upper_parameter_count__gt=models.F("lower_parameter_count")),
                violation_error_message=_("The upper bound must be above the lower one."),
            ),
        ]

    @property
    def code(self) -> str:
        return self.sku

    @property
    def name_en(self) -> str:
        return self.name


class ReferenceBuild(Part):
    """A build of a tier: `claim` as the articles print it (texts), `corrected` from catalogue parts (SKUs, counts)."""

    kind_code = "reference-builds"

    name_zh = models.CharField(_("Chinese name"), max_length=200)
    tier = models.ForeignKey(Tier, on_delete=models.PROTECT, related_name="builds", verbose_name=_("tier"))
    kind = models.CharField(_("kind"), max_length=20)  # claim | corrected
    origin = models.TextField(_("origin"), blank=True, default="")
    gpu_text = models.CharField(_("GPU as claimed"), max_length=120, blank=True, default="")
    gpu_sku = models.CharField(_("GPU"), max_length=80, blank=True, default="")
    gpus_per_server_text = models.CharField(_("GPUs a server, as written"), max_length=20, blank=True, default="")
    gpus_per_server = models.PositiveSmallIntegerField(_("GPUs a server"), null=True, blank=True)
    server_sku = models.CharField(_("server"), max_length=80, blank=True, default="")
    server_count = models.PositiveIntegerField(_("server count"), null=True, blank=True)  # NULL: "many"
    cpu_sku = models.CharField(_("CPU"), max_length=80, blank=True, default="")
    cpus_per_server = models.PositiveSmallIntegerField(_("CPUs a server"), null=True, blank=True)
    memory_text = models.CharField(_("memory as claimed"), max_length=120, blank=True, default="")
    memory_sku = models.CharField(_("memory module"), max_length=80, blank=True, default="")
    memory_modules_per_server = models.PositiveSmallIntegerField(_("modules a server"), null=True, blank=True)
    host_memory_text = models.CharField(_("host memory, as written"), max_length=40, blank=True, default="")
    host_memory_bytes = models.BigIntegerField(_("host memory [B]"), null=True, blank=True)
    ssd_text = models.CharField(_("SSD as claimed"), max_length=120, blank=True, default="")
    ssd_sku = models.CharField(_("SSD"), max_length=80, blank=True, default="")
    ssds_per_server = models.PositiveSmallIntegerField(_("SSDs a server"), null=True, blank=True)
    nic_text = models.CharField(_("network as claimed"), max_length=120, blank=True, default="")
    nic_sku = models.CharField(_("NIC"), max_length=80, blank=True, default="")
    nics_per_server = models.PositiveSmallIntegerField(_("NICs a server"), null=True, blank=True)
    switch_sku = models.CharField(_("switch"), max_length=80, blank=True, default="")
    storage_sku = models.CharField(_("storage"), max_length=80, blank=True, default="")
    conflict = models.TextField(_("what does not fit"), blank=True, default="")
    conflict_zh = models.TextField(_("what does not fit, in Chinese"), blank=True, default="")

    objects = ReferenceBuildQuerySet.as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("reference build")
        verbose_name_plural = _("reference builds")
        constraints = [
            *positive("referencebuild", "gpus_per_server", "server_count", "host_memory_bytes"),
            models.CheckConstraint(
                name="catalog_referencebuild_kind_known",
                condition=models.Q(kind__in=["claim", "corrected"]),
                violation_error_message=_("The kind is claim or corrected."),
            ),
        ]

    @property
    def name_en(self) -> str:
        return self.name

    @property
    def display_conflict(self) -> str:
        return self.conflict_zh if self.display_name == self.name_zh else self.conflict


class SoftwareStack(Part):
    """Toolkit, driver and framework of one GPU architecture."""

    kind_code = "software-stacks"

    architecture = models.CharField(_("architecture"), max_length=60)
    compute_capability = models.CharField(_("compute capability"), max_length=20, blank=True, default="")
    gpu_examples = models.JSONField(_("GPUs"), default=list, blank=True)
    toolkit = models.CharField(_("toolkit"), max_length=60)
    min_toolkit = models.CharField(_("lowest toolkit"), max_length=40, blank=True, default="")
    recommended_toolkit = models.CharField(_("recommended toolkit"), max_length=40, blank=True, default="")
    min_driver_branch = models.CharField(_("lowest driver"), max_length=40, blank=True, default="")
    recommended_driver_branch = models.CharField(_("recommended driver"), max_length=40, blank=True, default="")
    min_pytorch = models.CharField(_("lowest PyTorch"), max_length=40, blank=True, default="")
    recommended_pytorch = models.CharField(_("recommended PyTorch"), max_length=40, blank=True, default="")
    collective_library = models.CharField(_("collective library"), max_length=40, blank=True, default="")
    suggested_os = models.TextField(_("operating system"), blank=True, default="")
    origin = models.CharField(_("origin"), max_length=80, blank=True, default="")

    objects = PartQuerySet["SoftwareStack"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("software stack")
        verbose_name_plural = _("software stacks")


class ModelArchitecture(Part):
    """A published model; `sku` is the preset's name. Columns carry the names of the sizing engine's model."""

    kind_code = "model-architectures"

    family = models.CharField(_("family"), max_length=60)
    kind = models.CharField(_("kind"), max_length=20)  # decoder | encoder | vision
    layer_count = models.PositiveIntegerField(_("layers"))
    hidden_size = models.PositiveIntegerField(_("hidden size"))
    ffn_size = models.PositiveIntegerField(_("feed-forward size"), null=True, blank=True)  # NULL: experts only
    head_count = models.PositiveIntegerField(_("attention heads"))
    kv_head_count = models.PositiveIntegerField(_("key-value heads"))
    head_size = models.PositiveIntegerField(_("head size"))
    vocab_size = models.PositiveIntegerField(_("vocabulary"), null=True, blank=True)  # NULL: images, no vocabulary
    gated_ffn = models.BooleanField(_("gated feed-forward"))
    tied_embeddings = models.BooleanField(_("tied embeddings"))
    learned_position_count = models.PositiveIntegerField(_("learned positions"), default=0)
    attention_bias = models.CharField(_("attention bias"), max_length=10)  # none | qkv | all
    ffn_bias = models.BooleanField(_("feed-forward bias"))
    norm = models.CharField(_("norm"), max_length=10)  # rms | layer
    norm_bias = models.BooleanField(_("norm bias"))
    norms_per_layer = models.PositiveSmallIntegerField(_("norms a layer"), default=2)
    has_qk_norm = models.BooleanField(_("query-key norm"))
    attention_kind = models.CharField(_("attention"), max_length=10)  # mha | gqa | mqa | mla
    sliding_window_text = models.CharField(_("sliding window, as written"), max_length=40, blank=True, default="")
    sliding_window = models.PositiveIntegerField(_("sliding window [tokens]"), default=0)
    window_layers_per_period = models.PositiveSmallIntegerField(_("windowed layers a period"), default=1)
    window_period = models.PositiveSmallIntegerField(_("layers a period"), default=1)
    expert_count = models.PositiveIntegerField(_("experts"), default=0)
    experts_per_token = models.PositiveIntegerField(_("experts a token"), default=0)
    expert_ffn_size = models.PositiveIntegerField(_("expert size"), default=0)
    shared_expert_count = models.PositiveIntegerField(_("shared experts"), default=0)
    shared_expert_ffn_size = models.PositiveIntegerField(_("shared expert size"), default=0)
    dense_layer_count = models.PositiveIntegerField(_("dense layers"), default=0)
    moe_layer_interval = models.PositiveSmallIntegerField(_("every n-th layer has experts"), default=1)
    q_lora_rank = models.PositiveIntegerField(_("query rank"), default=0)
    kv_lora_rank = models.PositiveIntegerField(_("key-value rank"), default=0)
    qk_nope_head_size = models.PositiveIntegerField(_("head size without position"), default=0)
    qk_rope_head_size = models.PositiveIntegerField(_("head size with position"), default=0)
    v_head_size = models.PositiveIntegerField(_("value head size"), default=0)
    mtp_layer_count = models.PositiveIntegerField(_("multi-token layers"), default=0)
    other_parameter_count = models.BigIntegerField(_("other parameters"), default=0)
    max_sequence_length = models.PositiveIntegerField(_("longest sequence [tokens]"), default=0)
    published_parameter_count = models.BigIntegerField(_("published parameters"), null=True, blank=True)
    published_active_parameter_count = models.BigIntegerField(_("published active parameters"), null=True, blank=True)
    published_label = models.CharField(_("published label"), max_length=40, blank=True, default="")
    computed_parameter_count = models.BigIntegerField(_("parameters, computed"))
    computed_active_parameter_count = models.BigIntegerField(_("active parameters, computed"))

    objects = PartQuerySet["ModelArchitecture"].as_manager()

    class Meta:
        ordering = ["sku"]
        verbose_name = _("model architecture")
        verbose_name_plural = _("model architectures")
        constraints = [
            *positive("modelarchitecture", "layer_count", "hidden_size", "head_count", "kv_head_count", "head_size"),
            *positive("modelarchitecture", "ffn_size", "vocab_size", "computed_parameter_count"),
            models.CheckConstraint(
                name="catalog_modelarchitecture_kind_known",
                condition=models.Q(kind__in=["decoder", "encoder", "vision"]),
                violation_error_message=_("The kind is decoder, encoder or vision."),
            ),
            models.CheckConstraint(
                name="catalog_modelarchitecture_experts_per_token",
                condition=models.Q(experts_per_token__lte=models.F("expert_count")),
                violation_error_message=_("A token cannot use more experts than there are."),
            ),
        ]

    @property
    def preset(self) -> str:
        return self.sku

    @property
    def is_moe(self) -> bool:
        return self.expert_count > 0
