"""Collectives against the textbook formula and the published two-level bandwidth of a rail-optimised cluster."""

from __future__ import annotations

import numpy as np
import pytest

from advisor.engine import collectives


def test_ring_moves_all_but_its_own_share():
    # Patarasuk and Yuan 2009: (n - 1) / n of the message, here 8 ranks, 1 GB, 100 GB/s
    assert collectives.ring_shift_seconds(1e9, 8, 100e9) == pytest.approx(7 / 8 / 100)


def test_one_rank_costs_nothing():
    assert collectives.ring_shift_seconds(1e9, 1, 100e9, 1e-3) == 0


@pytest.mark.parametrize(
    ("group", "stride", "expected"),
    [(8, 1, 8), (8, 2, 4), (8, 8, 1), (16, 1, 8), (2, 4, 2), (4, 16, 1)],
)
def test_members_that_share_a_server_of_eight(group, stride, expected):
    assert collectives.members_per_domain(group, stride, 8) == expected


def test_a_group_drives_as_many_ports_as_it_has_members_in_a_server():
    # at t = 1 all eight GPUs of a server belong to the data-parallel group and drive eight ports; at t = 8 one
    wide = collectives.group_bytes_per_second(64, 8, 360e9, 40e9)
    narrow = collectives.group_bytes_per_second(8, 1, 360e9, 40e9)
    assert wide == 8 * 40e9
    assert narrow == 40e9


def test_ports_are_bounded_by_the_links_that_feed_them():
    assert collectives.group_bytes_per_second(64, 8, 200e9, 40e9) == 200e9


def test_inside_a_domain_the_scale_up_links_count():
    assert collectives.group_bytes_per_second(8, 8, 360e9, 40e9) == 360e9


def test_latency_grows_with_hops_and_with_servers_in_the_ring():
    seconds = collectives.group_latency_seconds(64, 8, 2e-6, 5e-6)
    assert seconds == pytest.approx(2e-6 * 6 + 5e-6 * 7)
    assert np.all(np.diff(collectives.group_latency_seconds(np.array([8.0, 16.0, 64.0]), 8.0, 2e-6, 5e-6)) > 0)


def test_members_that_a_server_holds_whole():
    # servers of ten, ranks four apart: at 0, 4 and 8 three of them, but only two whole groups of four fit
    assert collectives.members_per_domain(8, 4, 10) == 2
