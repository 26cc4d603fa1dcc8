"""What the method page says: the formulas of `advisor.engine`, each with its source."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """One formula: its name, the formula in the symbols of the page, what it means, and where it comes from."""

    name: Text
    formula: Text
    meaning: Text
    source: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    code: str
    title: Text
    intro: Text
    formulas: tuple[Formula, ...] = ()


def _row(name: Text, formula: Text, meaning: Text, source: Text) -> Formula:
    return Formula(name=name, formula=formula, meaning=meaning, source=source)


SYMBOLS: tuple[tuple[str, Text], ...] = (
    ("N, D", _("parameters, training tokens")),
    ("L, h, f, V", _("layers, hidden size, feed-forward width, vocabulary")),
    ("a, k, d", _("attention heads, key-value heads, head size")),
    ("E, e", _("experts, experts per token")),
    ("s, b, m", _("sequence length, micro-batch, micro-batches per step")),
    ("t, p, c, x, n", _("tensor, pipeline, context, expert and data parallel sizes")),
    ("v", _("virtual stages per pipeline rank")),
    ("T = b s/c", _("tokens of one micro-batch on one context rank")),
)

PARAMETERS = Section(
    code="parameters",
    title=_("Parameters"),
    intro=_(
        "Counted from the architecture, layer by layer. A bare count is turned into a shape: depth and width are "
        "interpolated between published models, then the feed-forward width is solved so that the count comes out "
        "within 1 %. The shape is shown with the result."
    ),
    formulas=(
        _row(_("Attention"), "2 h a d + 2 h k d", _("Query and output, key and value matrices."), "arXiv:2305.13245"),
        _row(
            _("Feed-forward"), "3 h f  |  2 h f", _("Gated (SwiGLU), or plain."), "arXiv:2002.05202",
        ),
        _row(
            _("Mixture of experts"), "E 3 h f_e + h E;  e 3 h f_e",
            _("All experts and the router count for memory; the experts of one token count for the work."),
            "arXiv:2101.03961",
        ),
        _row(
            _("Tokens when none are given"), "D = 20 N",
            _("Compute-optimal; current open models train far past it."), "arXiv:2203.15556",
        ),
    ),
)  # fmt: skip

FLOPS = Section(
    code="flops",
    title=_("Operations and MFU"),
    intro=_(
        "One multiply-add is two operations. Model FLOPs are what the training needs, hardware FLOPs also count what "
        "is computed again. Our MFU counts the matrix products of active parameters, the output head included and the "
        "embedding look-up not, and attention over the tokens that a query really sees (half of the sequence when "
        "causal). Sources that print 6ND or full-square attention show other percentages for the same speed."
    ),
    formulas=(
        _row(
            _("Forward, per token"), "2 N_matmul + 2 s_eff a (d + d_v) L,  s_eff = s/2",
            _("Sliding windows shorten s_eff to the window."), "arXiv:2104.04473, arXiv:2204.02311",
        ),
        _row(
            _("Training, per token"), _("3 × forward"), _("The backward pass is twice the forward."),
            "arXiv:2001.08361",
        ),
        _row(
            _("LoRA and QLoRA"), _("≈ 2 × forward"),
            _("Frozen weights need no weight gradient; the adapters are added."), "arXiv:2106.09685",
        ),
        _row(
            _("Full recomputation"), _("+ 1 × forward of the layers"),
            _("Hardware FLOPs only. PyTorch and XLA leave out a layer's last product; selective recomputation repeats "
              "the named modules."), "arXiv:2205.05198",
        ),
        _row("MFU", _("model FLOPs / (step time × GPUs × dense peak)"), _("Dense peak of the precision used."),
             "arXiv:2204.02311"),
    ),
)  # fmt: skip

MEMORY = Section(
    code="memory",
    title=_("Memory of the most loaded GPU"),
    intro=_(
        "Every part is computed for each pipeline stage, and the fullest stage is the answer. Three totals are kept "
        "apart: allocated (live tensors), reserved (with the allocator's slack), and device (with context and "
        "libraries). A layout fits when the device total is within what the driver shows."
    ),
    formulas=(
        _row(
            _("States, AdamW in mixed precision"), "2 + 4 + 12 → 6 + 12/n",
            _(
                "Bytes per parameter: 16-bit weights, 32-bit gradients, master weight and two moments; the distributed "
                "optimizer divides the last by the data-parallel size. Recipes differ and are an input."
            ),
            "arXiv:1910.02054",
        ),
        _row(
            _("Activations of a layer, per token"), "(8h + 4ad + 4kd + 6f + 4a)/t",
            _("16-bit, gated, flash attention, sequence parallel. Full recomputation keeps 2h and one layer at work."),
            "arXiv:2205.05198",
        ),
        _row(
            _("Selective recomputation"), "5as/t;  (6f + 2h)/t;  2e f_e/t;  …",
            _(
                "Drops the attention core, or the parts that are named: dense FFN, norms, expert activations, experts, "
                "shared experts, latent up-projections. One layer at work holds its share again."
            ),
            "arXiv:2205.05198",
        ),
        _row(
            _("Micro-batches in flight"), "min(m, p − i);  (2(p − i − 1) + (v − 1)p + 1)/v",
            _("Stage i of 1F1B, and of the interleaved schedule."), "arXiv:2104.04473",
        ),
        _row(
            _("Logits and loss"), "T V/t × 2 | 9 … 16",
            _("Fused vocabulary-parallel loss, chunked loss, or 16-bit logits with a 32-bit copy and its gradient."),
            _("read in the frameworks' source"),
        ),
        _row(
            _("Fully sharded"), "2 (2 P_layer + P_root) + 2 P_head + (2 + g) P_layer",
            _("Two gathered units, embedding, head; gradients, a reduction's copy."), "arXiv:2304.11277",
        ),
        _row(
            _("Reserved by the allocator"), _("logits + (allocated − logits) × 1.05 … 1.28"),
            _(
                "Logits are few and large blocks without slack. 1.05 Megatron, 1.15 PyTorch on whole weights, 1.24 "
                "DeepSpeed, 1.28 PyTorch on sharded weights; near the card's limit cached blocks are given back."
            ),
            _("paired logs of allocated and reserved memory"),
        ),
        _row(
            _("QLoRA weights"), "0.5 + 0.127/8",
            _("4-bit blocks with double quantization; embeddings and head stay in 16 bit."), "arXiv:2305.14314",
        ),
    ),
)  # fmt: skip

TIME = Section(
    code="time",
    title=_("Step time"),
    intro=_(
        "One additive form for every operation. Efficiencies and latencies are fitted once to all published rows "
        "together, never to a single one; they are listed below with the error they leave."
    ),
    formulas=(
        _row(
            _("An operation"), _("FLOPs/(peak ε) + bytes/(bandwidth β) + launch"),
            _("Peak is the dense datasheet peak of the precision."), _("form of this engine, fitted"),
        ),
        _row(
            _("Attention, backward"), _("2.5 × forward"),
            _("Flash attention recomputes the scores."), "arXiv:2307.08691",
        ),
        _row(
            _("Softmax"), _("scores seen / special-function rate"),
            _("Exponentials, forward and backward; the share that stays beside the products is fitted."),
            _("CUDA programming guide, arithmetic throughput"),
        ),
        _row(
            _("Small layers"), _("max(kernels + waits, host)"),
            _("Launching a layer kernel by kernel takes the host milliseconds, with captured graphs about a third."),
            "arXiv:2603.07685",
        ),
        _row(
            _("Gradients under ZeRO 2"), "m (1 − 1/n) bytes / rate",
            _("Scattered after every micro-batch, since no rank keeps them whole."), "arXiv:1910.02054",
        ),
        _row(
            _("Narrow experts"), "1 + w/f_e",
            _("Grouped products lose as if each expert were w columns wider; w is fitted."),
            _("form of this engine, fitted"),
        ),
        _row(
            _("Tensor parallel"), _("8 (1 − 1/t) T h / rate"),
            _("Bytes per layer and direction that wait for the links; the exposed share is fitted."),
            "arXiv:2104.04473, arXiv:2205.05198",
        ),
        _row(
            _("Expert dispatch"), _("e copies, or g (1 − (1 − 1/g)^e) domains, per token"),
            _("The plain all-to-all sends a token to each of its experts and is waited for between servers; a "
              "deduplicating one sends it once to each server and leaves a fitted share to wait for."),
            "arXiv:2412.19437",
        ),
        _row(
            _("Data parallel"), _("(1 − 1/n) bytes / rate"),
            _(
                "Once a step, or per micro-batch when fully sharded. A group with several members in a server drives "
                "as many network ports at once. Sharded weights travel while a layer computes or waits for its tensor "
                "ranks."
            ),
            "doi:10.1016/j.jpdc.2008.09.002",
        ),
        _row(
            _("Pipeline"), _("m × slowest stage + (p − 1)/v × mean stage"),
            _("Uneven layers and the head decide which stage is slowest."), "arXiv:2104.04473",
        ),
        _row(
            _("Virtualized profile"), _("step / (1 − loss)"),
            _("A stated loss acts exactly: 10 days at 20 % are 12.5. Link, latency and interruption factors act only "
              "when given."),
            _("definition"),
        ),
    ),
)  # fmt: skip

SEARCH = Section(
    code="search",
    title=_("Search"),
    intro=_(
        "Every admissible layout of every GPU and cluster size is evaluated, as arrays: tensor groups inside one "
        "scale-up domain that divide the heads, stages up to the layers, expert groups that divide the experts, "
        "micro-batches that divide the global batch. Configurations that fit and meet the deadline are ranked by the "
        "cost of the run; the fastest, the one with the fewest servers and the best of every other GPU are shown "
        "beside it. What falls out says why, with one figure."
    ),
)

RELIABILITY = Section(
    code="reliability",
    title=_("Interruptions, checkpoints, spares"),
    intro=_(
        "Rates come from published counts and differ by a factor of three between sites; each is an assumption with "
        "its source."
    ),
    formulas=(
        _row(
            _("Interval between checkpoints"), "√(2 δ M)",
            _("δ is the stall of one checkpoint, M the mean time between interruptions."),
            "doi:10.1145/361147.361115",
        ),
        _row(
            _("Goodput"), "τ / (M e^(R/M) (e^((τ + δ)/M) − 1))",
            _("τ is the interval, R the restart time."), "doi:10.1016/j.future.2004.11.016",
        ),
        _row(
            _("Training time"), _("steps × step time / goodput"), _("Deadlines are tested against this."),
            _("definition"),
        ),
        _row(
            _("Spare servers"), _("Poisson quantile, 99 %"),
            _("Servers in repair at once: rate × hardware share × repair time."), "arXiv:2407.21783",
        ),
    ),
)  # fmt: skip

CLUSTER = Section(
    code="cluster",
    title=_("Network, storage, power"),
    intro=_("Counted for the cluster found, from the parts of the catalogue."),
    formulas=(
        _row(
            _("Leaf and spine"), _("k²/2 ports; k³/4 ports"),
            _("Two and three tiers of k-port switches without oversubscription; rail-optimised."),
            "doi:10.1145/1402958.1402967",
        ),
        _row(
            _("Checkpoint"), "14 N",
            _("16-bit weight, 32-bit master, two moments; adapters only for LoRA."), "arXiv:1910.02054",
        ),
        _row(
            _("Data set and read rate"), _("D × bytes per token; tokens/s × bytes per token"),
            _("2 bytes up to 65,536 words in the vocabulary, else 4."), _("definition"),
        ),
        _row(
            _("Power"), _("Σ devices × PUE"), _("Racks by the maximum, energy by the average."), _("definition"),
        ),
    ),
)  # fmt: skip

MONEY = Section(
    code="money",
    title=_("Money"),
    intro=_(
        "Prices come from dated price books; a line without a price is named and left out, never counted as 0. "
        "Amounts are decimals, rounded per line to the currency's minor unit."
    ),
    formulas=(
        _row(
            _("Rent or buy"), _("Σ rent against Σ (purchase + colocation + energy + upkeep + staff)"),
            _("Month by month from zero; the break-even month is the first in which buying has cost less."),
            _("definition"),
        ),
        _row(
            _("Break-even use"), _("fixed cost of owning / (full rent − variable cost)"),
            _("Above this share of the time, buying is cheaper over the horizon."), _("definition"),
        ),
    ),
)  # fmt: skip

SECTIONS = (PARAMETERS, FLOPS, MEMORY, TIME, SEARCH, RELIABILITY, CLUSTER, MONEY)

LIMITS: tuple[Text, ...] = (
    _("Decoder language models are computed in full; encoders and vision transformers by the same formulas without "
      "the causal half. Other networks are not sized here."),
    _("Mixture-of-experts rows assume balanced routing; real routing has been 8 to 20 % slower in published runs."),
    _("GPUs without published training runs get the range of their nearest relative, widened; the result says so."),
    _("Data preparation, failed experiments, evaluation and staff time are not in the training time."),
    _("Not in the prices: building works, customs, software licences that the list does not name."),
)  # fmt: skip
