from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine import compatibility_software as rules
from advisor.engine.parts import Check
from advisor.engine.specs import ModelKind, Precision, Recipe
from tests.engine.catalogue_parts import GPUS

H100 = GPUS["nvidia-h100-sxm5-80gb"]


class TestCuda:
    """Compute capability 9.0 is supported from CUDA 11.8; 12.x is the sensible minimum."""

    def test_11_7_is_below(self):
        check = rules.cuda_minimum(H100, "11.7")
        assert (check.code, check.severity, check.nearest) == ("cuda_below_minimum", "blocks", "11.8")

    def test_11_8_works_with_a_note(self):
        check = rules.cuda_minimum(H100, "11.8")
        assert (check.code, check.severity, check.nearest) == ("cuda_not_sensible", "note", "12.0")

    def test_12_is_fine(self):
        assert rules.cuda_minimum(H100, "12.8") is None

    def test_blackwell_needs_12_8(self):
        assert rules.cuda_minimum(GPUS["nvidia-b200-sxm-180gb"], "12.4").nearest == "12.8"

    def test_a_gpu_without_cuda_has_no_minimum(self):
        assert rules.cuda_minimum(replace(H100, min_cuda=None), "1.0") is None

    def test_versions_compare_by_number(self):
        assert rules.version_key("12.10") > rules.version_key("12.8")
        with pytest.raises(ValueError, match="not a version"):
            rules.version_key("latest")


class TestSystems:
    def test_centos_has_ended_and_apex_is_superseded(self):
        checks = rules.software_current("CentOS 7.9", ("apex", "torch"), "Ubuntu 22.04 LTS")
        assert [check.code for check in checks] == ["operating_system_ended", "package_superseded"]
        assert checks[0].nearest == "Ubuntu 22.04 LTS"

    def test_ubuntu_is_current(self):
        assert rules.software_current("Ubuntu 24.04 LTS") == ()


class TestWorkloads:
    def test_numeric_sensitive_does_not_take_fp8_nor_pure_bf16(self):
        assert rules.workload_fit("numeric_sensitive", Precision.FP8, Recipe.MEGATRON).nearest == "bf16"
        assert rules.workload_fit("numeric_sensitive", Precision.BF16, Recipe.PURE_BF16) is not None
        assert rules.workload_fit("numeric_sensitive", Precision.BF16, Recipe.MEGATRON) is None

    def test_each_profile_changes_what_it_needs(self):
        by_name = rules.WORKLOAD_RULES
        assert by_name["generative"].headroom_fraction > by_name["general"].headroom_fraction == 0
        assert by_name["multimodal"].network_factor > by_name["general"].network_factor == 1
        assert set(by_name) == {"general", "numeric_sensitive", "generative", "multimodal"}

    def test_unknown_is_refused(self):
        with pytest.raises(ValueError, match="Unknown workload"):
            rules.workload_fit("gaming", Precision.BF16, Recipe.FSDP)


class TestControl:
    def test_bare_metal_gives_driver_and_system_to_the_customer(self):
        control = rules.control_by_layer("bare_metal")
        assert (control["driver"], control["operating_system"], control["hypervisor"]) == (
            "customer",
            "customer",
            "none",
        )

    def test_shared_host_keeps_the_driver(self):
        assert rules.control_by_layer("virtualized_shared")["driver"] == "seller"

    def test_unknown_is_refused(self):
        with pytest.raises(ValueError, match="Unknown deployment"):
            rules.control_by_layer("serverless")

    def test_overclocking_is_a_note(self):
        assert rules.overclocking(H100).severity == "note"


class TestModelKinds:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [("BERT", ModelKind.ENCODER), ("medical imaging", ModelKind.VISION), ("image-text", ModelKind.DECODER)],
    )
    def test_sized(self, name, kind):
        assert rules.model_kind(name) is kind

    @pytest.mark.parametrize("name", ["molecular structure", "risk control", "driving perception"])
    def test_not_sized_here(self, name):
        check = rules.model_kind(name)
        assert isinstance(check, Check)
        assert check.code == "model_kind_not_sized"

    def test_unknown(self):
        assert rules.model_kind("oracle").code == "model_kind_unknown"
