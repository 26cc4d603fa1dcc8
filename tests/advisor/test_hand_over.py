"""Launch files, acceptance tests, software and words about states."""

from __future__ import annotations

import pytest
from django.utils import translation

from advisor.engine.specs import Method, TrainingPlan
from advisor.hand_over import launch_configuration
from advisor.hardware import load_parts
from advisor.software_answer import recommended_toolkit, software_answer, stack_for
from advisor.state_words import cluster_memory_text, states_text
from tests.advisor.jobs import H100, h100_estimate


def test_the_launch_file_carries_the_layout():
    estimate = h100_estimate()
    launch = launch_configuration(estimate)
    assert launch is not None
    assert launch["framework"] == "megatron"
    text = " ".join("\n".join(item["text"] for item in launch["files"]).split())
    assert f"--tensor-model-parallel-size {estimate.layout.tensor_parallel}" in text
    assert "--nnodes 8" in text  # 64 GPUs, 8 a server


class TestStates:
    def test_both_gradient_widths_are_quoted(self):
        # Megatron: 2 + 4 + 12 = 18 bytes; with 16-bit gradients 16: 70 B make 1.26 and 1.12 TB
        plan = TrainingPlan(tokens=None, sequence_length=4096, global_batch_size=8)
        with translation.override("en"):
            text = states_text(plan, 70e9, 18 * 70e9)
        assert "1.26" in text
        assert "18 bytes" in text
        assert "1.12" in text

    def test_adapters_have_no_bytes_a_parameter(self):
        plan = TrainingPlan(tokens=None, sequence_length=4096, global_batch_size=8, method=Method.LORA)
        assert "bytes" not in states_text(plan, 7e9, 14e9)

    def test_a_cluster_is_told_by_its_label(self):
        assert cluster_memory_text(H100, 8) == "640\N{NO-BREAK SPACE}GB"


@pytest.mark.usefixtures("catalog")
class TestSoftware:
    @pytest.mark.parametrize(
        ("sku", "lowest"),
        # first toolkits with native code: Hopper 11.8 (CUDA Hopper Compatibility Guide), Ampere 11.0, Blackwell 12.8
        [
            ("nvidia-h100-sxm5-80gb", "11.8"),
            ("nvidia-a100-sxm4-80gb", "11.0"),
            ("nvidia-b200-sxm-180gb", "12.8"),
            ("nvidia-a40-48gb", "11.1"),
        ],
    )
    def test_the_stack_is_that_of_the_architecture(self, sku, lowest):
        parts = load_parts()
        stack = stack_for(parts, parts.gpus[sku])
        assert stack is not None
        assert stack.min_toolkit == lowest

    def test_other_makers_have_no_cuda(self):
        parts = load_parts()
        assert recommended_toolkit(parts, parts.gpus["amd-mi300x-192gb"]) is None
        assert software_answer(parts, parts.gpus["amd-mi300x-192gb"], None)["toolkit"] == "ROCm"

    def test_monitoring_says_what_with_what_and_when(self):
        parts = load_parts()
        rows = software_answer(parts, parts.gpus["nvidia-h100-sxm5-80gb"], None)["monitoring"]
        assert len(rows) >= 6
        assert all(row["what"] and row["with"] and row["action"] for row in rows)
