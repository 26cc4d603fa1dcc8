"""Launch configuration and acceptance tests of a recommended layout, from the engine in the contract's shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from advisor.engine.launch import LaunchRequest, launch
from advisor.engine.specs import Estimate


def launch_configuration(estimate: Estimate) -> dict[str, Any] | None:
    """Files and command for the framework of the recipe; None where the layout cannot be written for it."""
    scenario, time = estimate.scenario, estimate.time
    interval = time.checkpoint_interval_seconds
    steps = None if not interval or time.step_seconds <= 0 else max(1, round(interval / time.step_seconds))
    request = LaunchRequest(
        model=scenario.model,
        plan=replace(scenario.plan, global_batch_size=estimate.global_batch_size),
        layout=estimate.layout,
        gpus_per_server=scenario.cluster.gpus_per_server,
        save_interval_steps=steps,
    )
    try:
        written = launch(request)
    except ValueError:
        return None
    return {
        "framework": written.framework,
        "command": written.command,
        "files": [{"name": item.name, "text": item.text} for item in written.files],
        "environment": dict(written.environment),
        "notes": list(written.notes),
    }
