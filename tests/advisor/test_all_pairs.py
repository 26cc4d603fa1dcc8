"""Every server with every GPU that its maker lists: a configuration whose parts fit, or the reason why not."""

from __future__ import annotations

import pytest

from advisor.bill_of_materials import BillRequest, bill_of_materials
from advisor.check_words import check_message
from advisor.engine.compatibility_server import gpu_in_server
from advisor.engine.specs import ModelSpec, TrainingPlan
from advisor.hardware import load_parts
from advisor.part_checks import configuration_checks
from advisor.part_facts import candidates, gpu_facts, server_facts
from advisor.storage_parts import storage_sizes

pytestmark = pytest.mark.usefixtures("catalog")
PLAN = TrainingPlan(tokens=1e12, sequence_length=4096, global_batch_size=1024)
MODEL = ModelSpec(
    name="7B",
    layer_count=32,
    hidden_size=4096,
    ffn_size=11008,
    head_count=32,
    kv_head_count=32,
    head_size=128,
    vocab_size=32000,
)


def test_every_listed_pair_yields_parts_that_fit() -> None:
    parts = load_parts()
    sizes = storage_sizes(MODEL, PLAN, unique_tokens=1e12, tokens_per_second=3e5, interval_seconds=1800)
    pairs = [
        (gpu, server) for gpu in parts.gpus.values() for server in parts.servers.values() if gpu.sku in server.gpu_skus
    ]
    assert len(pairs) > 100
    blocked = []
    for gpu, server in pairs:
        for count in (1, 16):
            request = BillRequest(
                gpu=gpu,
                server=server,
                server_count=count,
                spare_server_count=0,
                sizes=sizes,
                training_seconds=1e6,
            )
            bill = bill_of_materials(parts, request)
            checks = configuration_checks(parts, bill, PLAN, workload="general", cuda=None, destination=None)
            blocked += [(server.sku, gpu.sku, check["message"]) for check in checks if check["severity"] == "blocks"]
            servers = next(line for line in bill.lines if line["kind"] == "server")
            assert servers["quantity"] == count
            # what is missing from a bill is said in a sentence
            assert all(text.strip() for text in bill.missing)
    assert blocked == []


def test_every_other_pair_is_refused_with_both_names_and_the_server_that_takes_the_gpu() -> None:
    parts = load_parts()
    everything = candidates(parts.revision)
    takers = {sku for server in everything.servers for sku in server.supported_gpu_skus}
    for gpu in parts.gpus.values():
        for server in parts.servers.values():
            if gpu.sku in server.gpu_skus:
                continue
            check = gpu_in_server(gpu_facts(gpu), server_facts(server), everything.servers)
            assert check is not None
            assert check.severity == "blocks"
            message = check_message(check, parts)
            assert gpu.name in message
            assert server.name in message
            if gpu.sku in takers:
                assert check.nearest
                assert gpu.sku in parts.servers[check.nearest].gpu_skus


def test_drives_fit_the_bays() -> None:
    # Dell PowerEdge XE7740 has bays for E3.S only
    parts = load_parts()
    server = parts.servers["dell-poweredge-xe7740"]
    sizes = storage_sizes(MODEL, PLAN, unique_tokens=1e12, tokens_per_second=3e5, interval_seconds=1800)
    request = BillRequest(
        gpu=parts.gpus["nvidia-l40s-48gb"], server=server, server_count=1, spare_server_count=0, sizes=sizes
    )
    drive = bill_of_materials(parts, request).build.ssd
    assert drive is not None
    assert "E3.S" in drive.form_factor
