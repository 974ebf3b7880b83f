"""Measure the noise samplers beside OpenDP, and calibration and accounting; print one JSON object.

Draws are timed one by one, by the message (8) and by the reward table (6,400); the exact sampler
must take less than 250 microseconds a draw in each. `python benchmarks/bench_noise.py`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

SCALE = 2**30 + 12345
SIZES = (1, 8, 6400)
REPEATS = 5
LIMIT_US = 250


def main() -> None:
    from dp_multiagent.privacy.exact_sampler import ExactSampler
    from dp_multiagent.privacy.opendp_sampler import OpenDpSampler

    exact, opendp = draws(ExactSampler()), draws(OpenDpSampler())
    slowest = max(cell['us_per_draw'] for kind in exact.values() for cell in kind.values())
    report = {
        'exact': exact,
        'opendp': opendp,
        'exact_over_opendp': {
            kind: {
                size: round(cell['us_per_draw'] / opendp[kind][size]['us_per_draw'], 2)
                for size, cell in cells.items()
            }
            for kind, cells in exact.items()
        },
        'mechanisms': mechanisms(),
        'met': {f'exact sampler under {LIMIT_US} us a draw': slowest < LIMIT_US},
    }
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


def draws(sampler: Any) -> dict[str, dict[int, dict[str, float]]]:
    """Time blocks of draws of both kinds."""
    return {
        kind: {size: block(getattr(sampler, kind), size) for size in SIZES}
        for kind in ('laplace', 'gaussian')
    }


def block(draw: Callable[..., Any], size: int) -> dict[str, float]:
    calls = max(1, 3200 // size)
    draw(scale=SCALE, size=size)

    def many() -> None:
        for _ in range(calls):
            draw(scale=SCALE, size=size)

    seconds = median(timed(many) for _ in range(REPEATS)) / (calls * size)
    return {'us_per_draw': round(1e6 * seconds, 2), 'draws_per_second': round(1 / seconds)}


def mechanisms() -> dict[str, float]:
    """Time what a robot does once per plan, in milliseconds."""
    from dp_multiagent.privacy.accountant import cost
    from dp_multiagent.privacy.gaussian import GaussianMechanism
    from dp_multiagent.privacy.units import Neighbours, PrivacyLoss, Unit

    unit = Unit(neighbours=Neighbours.MESSAGE_INPUTS, bound=1)
    loss = PrivacyLoss(epsilon=1, delta='1e-6')

    def calibrate() -> GaussianMechanism:
        return GaussianMechanism(unit=unit, loss=loss, sensitivity=2, entries=8)

    plan = [calibrate().planned(25)] * 10
    return {
        'calibrate_gaussian_ms': round(1e3 * best(calibrate), 3),
        'cost_of_ten_blocks_ms': round(1e3 * best(lambda: cost(plan, delta='1e-3')), 3),
    }


def best(work: Callable[[], Any]) -> float:
    return min(timed(work) for _ in range(20))


def timed(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == '__main__':
    main()
