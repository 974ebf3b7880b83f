"""Run 100 episodes in the simulator, as fast as the robots can follow; print one JSON object.

The successes must agree with the exact private success of the plan, within the 99 % interval of so
many episodes; planned by `baseline` the same team must do far worse. It takes some four minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from scipy import stats

COMMAND = Path(sys.executable).with_name('dp_multiagent')
EPISODES = 100
LEVEL = 0.99
METHODS = ('minimum-dependency', 'baseline')


def main() -> None:
    report: dict[str, Any] = {method: measure(method) for method in METHODS}
    private, baseline = (report[method]['success'] for method in METHODS)
    report['met'] = {f'{method}_as_planned': report[method]['as_planned'] for method in METHODS}
    report['met']['baseline_far_lower'] = baseline < private - 0.5
    print(json.dumps(report, indent=2))
    sys.exit(0 if all(report['met'].values()) else 1)


def measure(method: str) -> dict[str, Any]:
    begin = time.perf_counter()
    answer = run(method)
    seconds = time.perf_counter() - begin
    exact, successes = answer['success_private_exact'], answer['successes']
    low, high = stats.binom.interval(LEVEL, EPISODES, exact)
    causes = [row['outcome'] for row in answer['outcomes']]
    return {
        'exact_private_success': round(exact, 4),
        'success': successes / EPISODES,
        'interval_of_successes': [int(low), int(high)],
        'as_planned': bool(low <= successes <= high),
        'outcomes': {outcome: causes.count(outcome) for outcome in sorted(set(causes))},
        'mean_steps_of_successes': answer['mean_steps_of_successes'],
        'epsilon_spent': answer['epsilon_spent'],
        'seconds': round(seconds, 1),
    }


def run(method: str) -> dict[str, Any]:
    options = ['--rate', '0', '--episodes', str(EPISODES), '--method', method, '--json']
    command = [str(COMMAND), 'run', 'navigation', *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == '__main__':
    main()
