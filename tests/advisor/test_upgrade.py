"""Growth of a present cluster (M6): counts by hand, from the rail-optimised rules and the servers' own places."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from advisor.hardware import load_parts
from advisor.input_types import InputError
from advisor.upgrade import cluster_upgrade
from advisor.upgrade_inputs import parse_upgrade_request

pytestmark = pytest.mark.usefixtures("catalog")
DAY = date(2026, 11, 30)
JOB = {"model": {"parameters": "7B"}, "training": {"tokens": "100B"}}
H100 = {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 64}


def grow(present, target=None, currency="USD", **job):
    body = JOB | job | {"present": present, "target": target or {}, "commercial": {"currency": currency}}
    return cluster_upgrade(checked=parse_upgrade_request(body), on=DAY)


def steps(answer, kind):
    return [step for step in answer["steps"] if step["kind"] == kind]


def by_sku(answer):
    return {step["sku"]: (step["present_quantity"], step["target_quantity"]) for step in answer["steps"]}


def faults(body):
    with pytest.raises(InputError) as error:
        cluster_upgrade(checked=parse_upgrade_request(body), on=DAY)
    return {(fault.pointer, fault.code): fault.message for fault in error.value.errors}


class TestBoards:
    def test_boards_do_not_grow_and_servers_are_added(self):
        # 64 to 512 GPUs: 8 to 64 servers; one switch becomes 16 leaf and 8 spine switches of 64 ports
        answer = grow(H100, {"gpu_count": 512})
        server = steps(answer, "server")[0]
        assert (server["action"], server["present_quantity"], server["target_quantity"]) == ("add", 8, 64)
        assert steps(answer, "gpu")[0]["action"] == "cannot_grow"
        assert answer["cannot_grow"]
        assert by_sku(answer)["nvidia-qm9700"] == (1, 24)
        assert (answer["target"]["leaf_count"], answer["target"]["spine_count"]) == (16, 8)
        # single-port optics: one a GPU; twin-port: 32 for 64 links, then 256 + 256 + 256 for 512 + 512 links
        assert by_sku(answer)["mma4z00-ns400"] == (64, 512)
        assert by_sku(answer)["mma4z00-ns"] == (32, 768)

    def test_what_is_added_is_priced_line_by_line(self):
        # a server is the sum of its parts x 1.15 in USD; with nothing else added the cost is servers x that price
        small, large = grow(H100, {"gpu_count": 128}), grow(H100, {"gpu_count": 512})
        assert large["added_cost_is_complete"] is True
        assert Decimal(large["added_cost"]["amount"]) > 6 * Decimal(small["added_cost"]["amount"])

    def test_a_new_generation_is_a_pool_of_its_own(self):
        answer = grow(H100, {"gpu": "nvidia-b200-sxm-180gb", "gpu_count": 64})
        kept, new = steps(answer, "server")
        assert (kept["action"], kept["change"]) == ("keep", 0)
        assert (new["action"], new["target_quantity"]) == ("add", 8)
        assert steps(answer, "gpu")[0]["action"] == "cannot_grow"
        # storage and management serve both pools
        assert {step["action"] for step in steps(answer, "storage")} <= {"keep"}

    def test_gpus_are_never_given_back(self):
        answer = grow(H100, {"gpu_count": 32})
        assert answer["target"]["gpu_count"] == 64

    def test_a_deadline_finds_the_count(self):
        answer = grow({"gpu": "H100", "gpu_count": 8}, {"deadline_days": 5})
        assert answer["meets_target"] is False
        assert answer["target"]["gpu_count"] > 8
        assert answer["target"]["training_days"] <= 5

    def test_enough_today_needs_nothing(self):
        answer = grow(H100, {"deadline_days": 30})
        assert (answer["meets_target"], answer["target"], answer["steps"]) == (True, None, [])
        assert answer["added_cost"] is None

    def test_no_count_is_enough(self):
        answer = grow(H100, {"deadline_days": "1h"}, model={"parameters": "405B"}, training={"tokens": "15T"})
        assert answer["target"] is None
        assert answer["problems"]


class TestCards:
    ADA = {"gpu": "nvidia-rtx6000-ada-48gb", "gpu_count": 4, "gpus_per_server": 4}

    def test_free_places_come_first(self):
        # one server of eight places with four cards: four more go inside, no further server
        answer = grow(self.ADA, {"gpu_count": 8})
        gpu, server = steps(answer, "gpu")[0], steps(answer, "server")[0]
        assert (gpu["action"], gpu["change"]) == ("add", 4)
        assert (server["action"], server["target_quantity"]) == ("keep", 1)
        # demo book: 7 600 USD a card; the memory that stands in the server is enough
        assert Decimal(answer["added_cost"]["amount"]) == 4 * 7600

    def test_cards_are_exchanged_where_the_server_takes_the_new_one(self):
        answer = grow(self.ADA | {"gpu_count": 8, "gpus_per_server": 8}, {"gpu": "nvidia-l40s-48gb", "gpu_count": 8})
        gpu, server = steps(answer, "gpu")[0], steps(answer, "server")[0]
        assert (gpu["action"], gpu["target_quantity"]) == ("replace", 8)
        assert server["action"] == "keep"
        assert Decimal(answer["added_cost"]["amount"]) == 8 * 8755

    def test_short_host_memory_is_filled_up(self):
        # 8 x 48 GB of GPU memory ask for at least 384 GB in the host; 128 GB are there
        answer = grow(
            self.ADA | {"gpu_count": 8, "gpus_per_server": 8, "host_memory_gigabytes": 128}, {"gpu_count": 16}
        )
        memory = steps(answer, "memory")[0]
        assert (memory["action"], memory["present_quantity"]) == ("add", 4)
        assert memory["change"] > 0


class TestInput:
    def test_what_is_missing_is_named(self):
        assert {pointer for pointer, _code in faults(JOB)} == {"/present/gpu", "/present/gpu_count"}

    @pytest.mark.parametrize(
        ("present", "target", "pointer", "code"),
        [
            (H100 | {"server": "no-such-server"}, {}, "/present/server", "unknown_server"),
            (H100 | {"server": "nvidia-dgx-a100-640gb"}, {}, "/present/server", "gpu_form_factor"),
            (H100 | {"gpus_per_server": 12}, {}, "/present/gpus_per_server", "gpu_slots_exceeded"),
            (H100 | {"gpus_per_server": 5}, {}, "/present/gpus_per_server", "gpu_board_not_full"),
            ({"gpu": "Voodoo 5", "gpu_count": 8}, {}, "/present/gpu", "unknown_gpu"),
            (H100, {"gpu": "Voodoo 5"}, "/target/gpu", "unknown_gpu"),
            (H100, {"gpu_count": 0}, "/target/gpu_count", "out_of_range"),
            (H100, {"deadline_days": -1}, "/target/deadline_days", "not_above"),
            (7, {}, "/present", "not_an_object"),
            (H100 | {"colour": 1}, {}, "/present/colour", "unknown_field"),
        ],
    )
    def test_what_cannot_be_used_is_refused_at_its_place(self, present, target, pointer, code):
        found = faults(JOB | {"present": present, "target": target})
        assert (pointer, code) in found
        assert found[pointer, code]

    def test_a_wrong_server_names_the_nearest_that_takes_the_gpu(self):
        found = faults(JOB | {"present": H100 | {"server": "nvidia-dgx-a100-640gb"}})
        takers = [server.name for server in load_parts().orderable_servers(H100["gpu"])]
        assert any(name in found["/present/server", "gpu_form_factor"] for name in takers)
