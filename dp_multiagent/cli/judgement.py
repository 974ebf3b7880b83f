"""What commands say of policies: exact success, failures, bounds, and rollouts beside them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from dp_multiagent.models.plan import LocalPolicy
from dp_multiagent.planning.bounds import success_bounds
from dp_multiagent.planning.rollouts import roll_out
from dp_multiagent.planning.task import Task

LONGEST_ROLLOUT = 10_000


def judge(
    task: Task, policies: Sequence[LocalPolicy], total_correlation: float | None
) -> dict[str, Any]:
    """Evaluate policies exactly, truthfully and privately, and bound the private success."""
    truthful, private = task.truthful(policies), task.private(policies)
    bounds = success_bounds(
        task.game, policies, task.mechanisms, truthful, total_correlation or 0.0, task.horizon
    )
    return {
        'graph': str(task.graph),
        'epsilon': list(task.epsilon),
        'adjacency': list(task.adjacency),
        'horizon': task.horizon,
        'success_truthful': truthful.success,
        'success_private': private.success,
        'failures_private': private.failures,
        'unfinished_private': private.unfinished,
        'expected_length': truthful.expected_length,
        'expected_length_private': private.expected_length,
        'total_correlation': total_correlation,
        'bound': bounds.best,
        'bounds': {
            'theorem_2': bounds.theorem_2 if total_correlation is not None else None,
            'without_correlation': bounds.without_correlation,
            'true_word': bounds.true_word,
        },
    }


def add_rollout_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of rollouts."""
    parser.add_argument('--rollouts', type=int, metavar='N', help='play N times as a check')
    parser.add_argument('--receiver', choices=('raw', 'filter'), default='raw')
    parser.add_argument('--seed', type=int, default=0, help='of the rollouts')


def rolled_out(
    task: Task, policies: Sequence[LocalPolicy], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Play the policies privately if rollouts were asked for."""
    if arguments.rollouts is None:
        return {}
    played = roll_out(
        task.game,
        policies,
        task.mechanisms,
        n=arguments.rollouts,
        horizon=task.horizon or LONGEST_ROLLOUT,
        rng=np.random.default_rng(arguments.seed),
        receiver=arguments.receiver,
    )
    low, high = played.interval
    return {
        'rollouts': {
            'n': played.n,
            'receiver': arguments.receiver,
            'success': played.frequency,
            'low': low,
            'high': high,
            'confidence': played.confidence,
        }
    }
