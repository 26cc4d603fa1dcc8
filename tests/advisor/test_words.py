"""Every code that the engine can send has a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.utils import translation

from advisor.check_words import CHECKS
from advisor.engine import acceptance, parts
from advisor.engine.specs import Assumption, Origin, Problem
from advisor.hand_over import TEST_NAMES
from advisor.problem_words import (
    ASSUMPTION_LABELS,
    REJECTIONS,
    SENTENCES,
    assumption_answers,
    problem_answer,
    problem_message,
    rejection_message,
)

ENGINE = Path(acceptance.__file__).parent


def _codes(kind, *files):
    """Codes written out in calls of `kind(... code="...")`, and those chosen by an assignment to `code`."""
    found = set()
    for path in files or sorted(ENGINE.glob("*.py")):
        source = path.read_text(encoding="utf-8")
        for call in re.findall(rf"\b{kind}\((.*?)\n\s*\)", source, flags=re.S):
            found |= set(re.findall(r'code="([a-z0-9_]+)"', call))
    return found


def test_every_problem_of_the_engine_has_a_sentence():
    codes = _codes("Problem")
    assert {"does_not_fit", "unsupported_precision"} <= codes
    assert codes - set(SENTENCES) == set()


def test_every_rejection_of_the_engine_has_a_sentence():
    codes = _codes("Rejection")
    assert {"does_not_meet_deadline", "dearer"} <= codes
    assert codes - set(REJECTIONS) - set(SENTENCES) == set()


def test_every_check_of_the_engine_has_a_sentence():
    codes = set()
    for path in [*ENGINE.glob("compatibility*.py"), ENGINE / "part_names.py"]:
        source = path.read_text(encoding="utf-8")
        codes |= set(re.findall(r'code="([a-z0-9_]+)"', source))
        # code = "a" if ... else "b", code, severity = "a", "blocks", and tables of (code, severity)
        codes |= set(re.findall(r'\bcode(?:, severity)?(?:, figures)? = "([a-z0-9_]+)"', source))
        codes |= {pair[0] for pair in re.findall(r'\("([a-z0-9_]+)", "(blocks|check|note)"\)', source)}
        codes |= set(re.findall(r'code="[a-z0-9_]+" if .*? else "([a-z0-9_]+)"', source))
    assert len(codes) > 30
    assert codes - set(CHECKS) == set()


def test_every_acceptance_test_has_a_name():
    inputs = acceptance.AcceptanceInputs(
        gpu_sku="nvidia-h100-sxm5-80gb",
        gpu_count=64,
        gpus_per_server=8,
        gpu_memory_bytes=85e9,
        bf16_dense_flops_per_second=989.4e12,
        fp8_dense_flops_per_second=1978.9e12,
        uses_fp8=True,
        scale_up_bytes_per_second=450e9,
        scale_out_bytes_per_second_per_gpu=50e9,
        storage_read_bytes_per_second=1e9,
        storage_write_bytes_per_second=1e9,
        checkpoint_bytes=1e12,
        tokens_per_second=1e6,
        server_max_watts=10200,
        interruptions_per_gpu_second=5e-9,
    )
    codes = {test.code for test in acceptance.acceptance_tests(inputs)}
    assert codes == set(TEST_NAMES)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_job_that_does_not_fit_is_told_with_its_figures(language):
    params = {
        "needed_bytes": 158 * 2**30,
        "available_bytes": 80 * 2**30,
        "gpu": "A100",
        "gpu_count": 8,
        "smallest_gpu_count": 24,
        "model_state_bytes": 1.26e12,
        "cluster_bytes": 6.4e11,
    }
    with translation.override(language):
        answer = problem_answer(
            Problem(field="/cluster/gpu_count", code="does_not_fit", params=params),
            {"states": "1.26 TB", "memory": "640 GB"},
        )
    for figure in ("1.26 TB", "640 GB", "158", "80.0", "24"):
        assert figure in answer["message"]
    assert answer["params"] == params


@pytest.mark.parametrize(
    ("smallest_gpu_count", "sentence"),
    [
        (24, "Smallest cluster that fits: 24 × A100."),
        (16, "Leave the layout open: with another one 16 × A100 are enough."),
        (None, "No searched cluster of this GPU holds it."),
    ],
)
def test_what_would_fit_is_more_gpus_another_layout_or_nothing(smallest_gpu_count, sentence):
    params = {"gpu": "A100", "gpu_count": 16, "smallest_gpu_count": smallest_gpu_count, "states": "", "memory": ""}
    params |= {"needed_bytes": 9e10, "available_bytes": 8e10}
    with translation.override("en"):
        assert problem_message("does_not_fit", params).endswith(sentence)


def test_without_a_size_that_fits_none_is_named():
    params = {"gpu": "A100", "limit": 64, "smallest_gpu_count": None}
    with translation.override("en"):
        assert "None" not in rejection_message("does_not_fit", params)


def test_an_unknown_code_is_a_fault_of_ours():
    with pytest.raises(KeyError, match="no_such_code"):
        problem_message("no_such_code", {})


def test_texts_from_outside_are_printable():
    with translation.override("en"):
        assert "\x1b" not in problem_message("unknown_gpu", {"gpu": "\x1b[31mred"})


def test_an_assumption_is_told_once_and_the_first_wins():
    mine = Assumption(name="pue", value=1.2, unit="1", origin=Origin.USER, source="")
    default = Assumption(name="pue", value=1.4, unit="1", origin=Origin.DERIVED, source="survey")
    answers = assumption_answers((mine, default))
    assert [(item["value"], item["origin"]) for item in answers] == [(1.2, "user")]
    assert answers[0]["label"] == str(ASSUMPTION_LABELS["pue"])


def test_a_check_names_both_parts(catalog):
    from advisor.check_words import check_answer
    from advisor.hardware import load_parts

    check = parts.Check(
        code="memory_type_mismatch",
        severity="blocks",
        rule="M2",
        parts=("ddr5-4800-rdimm-64g", "nvidia-dgx-a100-640gb"),
        figures={"memory_type": "DDR5", "server_memory_type": "DDR4"},
        nearest="ddr4-3200-rdimm-64g",
    )
    catalogue = load_parts()
    with translation.override("en"):
        answer = check_answer(check, catalogue)
    for sku in (*check.parts, "ddr4-3200-rdimm-64g"):
        table = catalogue.servers if sku.startswith("nvidia") else catalogue.memory
        assert table[sku].name in answer["message"]
    assert "DDR4" in answer["message"]
