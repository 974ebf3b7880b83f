"""Where will the noise of this robot come from, and can a seed undo it?"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from dp_multiagent.cli.checks.finding import Finding, failed, fine

if TYPE_CHECKING:
    from dp_multiagent.privacy.noise import NoiseSampler

SAFE = ('OpenDpSampler', 'ExactSampler')
SCALE = 2**30
DRAWS = 1000
TOLERANCE = 0.3  # of the mean size of 1000 draws; one robot in 10^16 is wrongly accused
REMEDY = 'do not let this robot tell anything; install dp_multiagent again'


def sampler(make: Callable[[], NoiseSampler] | None = None) -> Finding:
    """Check which sampler is used, that it is a safe one and draws what it should."""
    import numpy as np

    from dp_multiagent.privacy.noise import system_sampler

    used = (make or system_sampler)()
    kind = type(used)
    if kind.__name__ not in SAFE or not kind.__module__.startswith('dp_multiagent.privacy.'):
        return failed('noise', f'{kind.__name__} is no sampler for releases', REMEDY)
    if _is_repeated(lambda: used.laplace(scale=SCALE, size=8).tolist()):
        return failed('noise', f'{kind.__name__} draws the same again after a seed', REMEDY)
    size = float(np.mean(np.abs(used.laplace(scale=SCALE, size=DRAWS)))) / SCALE
    if abs(size - 1) > TOLERANCE:
        return failed('noise', f'{kind.__name__}: noise of {size:.2f} times its scale', REMEDY)
    return fine('noise', _name(kind.__name__))


def private_states() -> Finding:
    """Check that what is told of a trajectory is not decided by a seed."""
    from dp_multiagent.models.mdp import Mdp
    from dp_multiagent.privacy.trajectory import TrajectoryMechanism

    coin = Mdp.from_tensor([[[0.5, 0.5]], [[0.5, 0.5]]], initial=0)
    mechanism = TrajectoryMechanism(coin, epsilon=0, adjacency=1)
    if _is_repeated(lambda: [mechanism.release(0, 0) for _ in range(64)]):
        return failed('private states', 'are the same again after a seed', REMEDY)
    return fine('private states', 'exact, from the randomness of the operating system')


def _is_repeated(draw: Callable[[], Any]) -> bool:
    """Tell whether seeds of the generators that must not be used decide what is drawn."""
    import random

    import numpy as np

    kept = random.getstate(), np.random.get_state()
    drawn = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)
        drawn.append(draw())
    random.setstate(kept[0])
    np.random.set_state(kept[1])
    return bool(drawn[0] == drawn[1])


def _name(kind: str) -> str:
    if kind == 'ExactSampler':
        return 'exact sampler of this package (opendp is not installed)'
    try:
        return f'OpenDP {version("opendp")}'
    except PackageNotFoundError:
        return 'OpenDP'
