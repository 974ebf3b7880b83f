"""Progress of long work, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from dp_multiagent.planning.request import SynthesisProgress

QUIET_SECONDS = 2.0
SECONDS_BETWEEN = 1.0


class Progress:
    """Says where a synthesis stands, once a second, if it takes more than two."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._next = clock() + QUIET_SECONDS

    def __call__(self, compute: Callable[[], SynthesisProgress]) -> None:
        """Print a line if it is time for one; `compute` is called just then."""
        if self._clock() < self._next:
            return
        now = compute()
        self._stream.write(
            f'iteration {now.iteration}: success {now.success_private:.4f} private, '
            f'{now.success_truthful:.4f} truthful, objective {now.objective:.5g}\n'
        )
        self._stream.flush()
        self._next = self._clock() + SECONDS_BETWEEN
