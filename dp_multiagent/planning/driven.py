"""Scenarios as they are driven: real robots cannot exchange their cells."""

from __future__ import annotations

import re
from dataclasses import replace

from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.scenarios import Scenario
from dp_multiagent.models.scenarios.navigation import Navigation

_SWAPS_ALLOWED = re.compile(r"""(\bswaps["']?\s*:\s*["']?)allowed\b""")


def driven(scenario: Scenario) -> Scenario:
    """Return the same scenario with swaps as collisions."""
    if not isinstance(scenario, Navigation):
        return scenario
    return replace(scenario, motion=replace(scenario.motion, swaps='collision'))


def driven_text(text: str, name: str) -> str:
    """Return the text of a scenario with swaps as collisions; `name` stands for its file."""
    scenario = scenarios.parse(text, name)
    if driven(scenario) == scenario:
        return text
    changed = _SWAPS_ALLOWED.sub(r'\1collision', text)
    if scenarios.parse(changed, name) != driven(scenario):
        raise ModelError(f'{name}: is made for swaps that are allowed; write `swaps: collision`')
    return changed
