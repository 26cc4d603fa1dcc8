"""The words of the field that a result uses, each explained in a sentence or two."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise


@dataclass(frozen=True, slots=True)
class Entry:
    """`section` is the part of the method page that has the formula, empty where none has."""

    code: str
    name: Text
    meaning: Text
    section: str = ""


@dataclass(frozen=True, slots=True)
class Chapter:
    title: Text
    entries: tuple[Entry, ...]


CHAPTERS: tuple[Chapter, ...] = (
    Chapter(
        _("Job"),
        (
            Entry("parameters", _("Parameters"), _(
                "The numbers that training adjusts. A mixture of experts has many and uses a part of them for each "
                "token: memory goes by all, work by the active ones."), "parameters"),
            Entry("tokens", _("Training tokens"), _(
                "Pieces of text that the model sees in the whole run, repeats included. How many a text has "
                "depends on the tokenizer and the language."), "parameters"),
            Entry("flops", "FLOP, FLOP/s", _(
                "An amount of work, and a rate of work. Training a token takes about six operations per active "
                "parameter; a multiply-add counts as two."), "flops"),
            Entry("global_batch", _("Global batch"), _(
                "Sequences, or tokens, that all GPUs work through before the weights change once. It bounds how many "
                "GPUs can share the job."), "search"),
            Entry("micro_batch", _("Micro-batch"), _(
                "Sequences that one pipeline takes at a time; a step is many of them."), "search"),
            Entry("method", _("Training method"), _(
                "Pretraining starts from nothing; continued pretraining and full fine-tuning change all weights of a "
                "given model; LoRA and QLoRA train small adapters beside frozen weights, in far less memory."),
                "memory"),
        ),
    ),
    Chapter(
        _("GPU and memory"),
        (
            Entry("gpu_memory", _("GPU memory"), _(
                "What the driver shows of a card is less than its label. Sizing goes by what is shown."), "memory"),
            Entry("gib", _("GB and GiB"), _(
                "1 GB is 1,000,000,000 bytes and 1 GiB is 1,073,741,824, 7 % more. Memory on the device is written in "
                "GiB, as the tools do; stored data in GB."), "memory"),
            Entry("model_states", _("Model states"), _(
                "Weights, gradients and optimizer states. With AdamW in mixed precision 16 to 18 bytes per "
                "parameter, before the first activation."), "memory"),
            Entry("activations", _("Activations"), _(
                "What the forward pass keeps for the backward pass. They grow with the sequence and the micro-batch."),
                "memory"),
            Entry("recomputation", _("Activation recomputation"), _(
                "Activations are thrown away and computed again: less memory, more time."), "memory"),
            Entry("zero", "ZeRO", _(
                "Data-parallel GPUs share the optimizer states (stage 1), the gradients (2) and the weights (3) "
                "instead of each holding all."), "memory"),
            Entry("reserved", _("Allocated, reserved, device memory"), _(
                "Live tensors; those and the allocator's slack; all that the driver counts. A job fits when the last "
                "is within what the card shows."), "memory"),
            Entry("dense_peak", _("Dense peak"), _(
                "The datasheet's rate without 2:4 sparsity, which training does not use. Sheets that print one large "
                "figure often print twice this one."), "flops"),
        ),
    ),
    Chapter(
        _("Speed"),
        (
            Entry("mfu", _("Model FLOPs utilisation (MFU)"), _(
                "The work that the model needs, over what the GPUs could do at their dense peak."), "flops"),
            Entry("step", _("Training step"), _(
                "One change of the weights: forward and backward over the global batch, then the update."), "time"),
            Entry("exposed_communication", _("Exposed communication"), _(
                "Time in which GPUs wait for data from each other; what hides behind computing is not counted."),
                "time"),
            Entry("bubble", _("Pipeline bubble"), _(
                "GPUs of a pipeline that stand idle while it fills and drains."), "time"),
            Entry("parallelism", _("Tensor, pipeline, data, context, expert parallel"), _(
                "Five ways to split a job: within a matrix, by layers, by samples, along the sequence, by experts. "
                "The product of the first three and the context size is the number of GPUs."), "search"),
            Entry("goodput", _("Goodput"), _(
                "Share of the wall time that advances the training: checkpoints, failures and restarts are out."),
                "reliability"),
            Entry("range", _("Range"), _(
                "Fastest and slowest: the band in which four of five published runs lie around their estimate."),
                "range"),
        ),
    ),
    Chapter(
        _("Cluster"),
        (
            Entry("scale_up", _("Scale-up and scale-out network"), _(
                "Links between the GPUs of one server (NVLink and its kind), and the network between servers."),
                "cluster"),
            Entry("rail", _("Rail-optimised, non-blocking"), _(
                "Each GPU position has its own leaf switch; non-blocking means that the layers above carry all that "
                "the servers can send."), "cluster"),
            Entry("checkpoint", _("Checkpoint"), _(
                "The state written to storage from which a run continues after an interruption."), "reliability"),
            Entry("interruption", _("Interruption"), _(
                "A failure that stops the run. Expected ones follow from published rates per GPU-hour."),
                "reliability"),
            Entry("spare", _("Spare server"), _(
                "Stands ready for one that is in repair, so that the run goes on at full size."), "reliability"),
            Entry("pue", "PUE", _(
                "Power of the whole facility over power of its computers: cooling and losses are the rest."),
                "cluster"),
            Entry("deployment", _("Bare metal, virtualized"), _(
                "The server itself, or a virtual machine on it: dedicated (one tenant on a host) or shared."), "time"),
        ),
    ),
    Chapter(
        _("Money"),
        (
            Entry("gpu_hour", _("GPU-hour"), _(
                "One GPU for one hour. Runs are compared by their GPU-hours at the price of the chosen term.")),
            Entry("indicative", _("Indicative price"), _(
                "Made by a stated rule from public prices, for orientation. An offer needs the seller's own price.")),
            Entry("break_even", _("Break-even month, break-even use"), _(
                "The month from which buying has cost less than renting, and the share of the time a cluster must be "
                "used for buying to pay.")),
            Entry("binding_constraint", _("Binding constraint"), _(
                "The condition that decides the size: without it a smaller or cheaper cluster would do.")),
            Entry("sensitivity", _("Sensitivity"), _(
                "How far the answer moves when one input goes to the ends of its range and all others stay.")),
            Entry("origin", _("Origin of an assumption"), _(
                "Datasheet, measured, published run, vendor claim, derived, or yours. A vendor's claim is never a "
                "default.")),
        ),
    ),
)  # fmt: skip
ENTRIES: dict[str, Entry] = {entry.code: entry for chapter in CHAPTERS for entry in chapter.entries}
# the words that a result page explains in place
ON_RESULT = (
    "binding_constraint", "mfu", "gpu_memory", "exposed_communication", "bubble", "goodput", "indicative", "gpu_hour",
    "break_even", "sensitivity", "origin", "range", "dense_peak", "model_states", "interruption", "global_batch",
)  # fmt: skip
