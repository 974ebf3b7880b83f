"""The verdict, on made-up paths and against the Markov game of the same scenario."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drives import PERIOD

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.errors import RefusedMessageError
from dp_multiagent.models import scenarios
from dp_multiagent.models.gridmap import GridMap
from dp_multiagent.sim.episode import Episode, Outcome, Verdict
from dp_multiagent.sim.judge import Judge

SECOND = 10**9
EPISODE = Episode(episode=7, start_ns=2 * SECOND, period_ns=4 * SECOND, horizon=3)
FLOOR = Floor(GridMap(('...', '.!.'), slip=0.0))
TARGETS = ((0, 2), (0, 0))


def poses(*cells):
    return [Pose(*FLOOR.centre(cell), 0.0) for cell in cells]


def judged(*path, targets=TARGETS):
    """Return the verdict on a path of joint cells, one for each step."""
    judge = Judge(FLOOR, targets, EPISODE)
    for k, cells in enumerate(path):
        verdict = judge.observe(EPISODE.step_ns(k), poses(*cells))
        if verdict:
            return verdict
    return None


def test_all_at_their_targets_at_one_step_is_success():
    verdict = judged(((0, 0), (1, 2)), ((0, 1), (1, 2)), ((0, 2), (0, 0)))
    assert (verdict.outcome, verdict.step, verdict.episode) == (Outcome.SUCCESS, 2, 7)
    assert verdict.cells[-1] == ((0, 2), (0, 0))


def test_one_at_its_target_is_no_success():
    assert judged(((0, 2), (1, 2))) is None


def test_deadly_cell_is_death():
    verdict = judged(((1, 0), (0, 2)), ((1, 1), (0, 2)))
    assert (verdict.outcome, verdict.step) == (Outcome.DEATH, 1)
    assert 'robot 1' in verdict.cause


def test_same_cell_is_a_collision_even_at_the_target():
    verdict = judged(((0, 1), (0, 1)), targets=((0, 1), (0, 1)))
    assert verdict.outcome is Outcome.COLLISION


def test_exchanged_cells_are_a_collision_even_at_the_targets():
    assert judged(((0, 0), (0, 2)), ((0, 2), (0, 0))).outcome is Outcome.COLLISION


def test_step_after_the_horizon_is_a_timeout():
    stay = ((0, 0), (0, 2))
    verdict = judged(stay, stay, stay, stay)
    assert (verdict.outcome, verdict.step) == (Outcome.TIMEOUT, 3)


def test_target_at_the_last_step_is_no_timeout():
    stay = ((0, 0), (1, 2))
    assert judged(stay, stay, stay, TARGETS).outcome is Outcome.SUCCESS


def test_touch_is_a_collision_at_once():
    judge = Judge(FLOOR, TARGETS, EPISODE)
    judge.observe(EPISODE.step_ns(0), poses((0, 0), (0, 2)))
    between = EPISODE.step_ns(0) + SECOND
    verdict = judge.observe(between, poses((0, 0), (0, 2)), touched={(0, 1)})
    assert (verdict.outcome, verdict.step) == (Outcome.COLLISION, 0)
    assert 'touched' in verdict.cause


def test_nothing_counts_before_the_start_or_after_the_verdict():
    judge = Judge(FLOOR, TARGETS, EPISODE)
    assert judge.observe(0, poses((0, 0), (0, 0)), touched={(0, 1)}) is None
    assert judge.observe(EPISODE.step_ns(0), poses(*TARGETS)).outcome is Outcome.SUCCESS
    assert judge.observe(EPISODE.step_ns(1), poses((0, 0), (0, 0))) is None
    assert judge.verdict.outcome is Outcome.SUCCESS


def test_between_the_steps_cells_do_not_count():
    judge = Judge(FLOOR, TARGETS, EPISODE)
    judge.observe(EPISODE.step_ns(0), poses((0, 0), (0, 2)))
    assert judge.observe(EPISODE.step_ns(1) - 1, poses((1, 1), (1, 1))) is None


def test_robots_off_the_map_are_nowhere():
    judge = Judge(FLOOR, TARGETS, EPISODE)
    away = [Pose(-5, -5, 0), Pose(-5, -5, 0)]
    assert judge.observe(EPISODE.step_ns(0), away) is None
    assert judge.observe(EPISODE.step_ns(1), away) is None


def test_verdict_is_that_of_the_markov_game_on_random_walks():
    path = Path(scenarios.__file__).parents[3] / 'config' / 'scenarios' / 'navigation.yaml'
    scenario = scenarios.load(path)
    scenario = replace(scenario, motion=replace(scenario.motion, swaps='collision'))
    game, grid, rng = scenario.game(), scenario.grid, np.random.default_rng(5)
    floor, targets = Floor(grid), [robot.target for robot in scenario.robots]
    episode = replace(EPISODE, horizon=40)
    seen = set()
    for _ in range(1500):
        judge = Judge(floor, targets, episode)
        state = rng.choice(np.argwhere(game.active))
        expected = verdict = None
        for k in range(episode.horizon + 1):
            where = [Pose(*floor.centre(grid.cells[s]), 0.0) for s in state]
            verdict = judge.observe(episode.step_ns(k), where)
            assert verdict is None or expected or not game.active[tuple(state)] or k == 40
            if verdict:
                break
            following = np.array(
                [
                    rng.choice(mdp.n_states, p=mdp.tensor[s, rng.integers(5)])
                    for mdp, s in zip(game.agents, state, strict=True)
                ]
            )
            swapped = state[0] == following[1] and state[1] == following[0]
            expected = Outcome.COLLISION if swapped else None
            state = following
        assert verdict.outcome is (expected or outcome_in(game, tuple(state)))
        seen.add(verdict.outcome)
    assert seen == set(Outcome)


def outcome_in(game, state):
    if game.causes['deadly cell'][state]:
        return Outcome.DEATH
    if game.causes['collision'][state]:
        return Outcome.COLLISION
    return Outcome.SUCCESS if game.target[state] else Outcome.TIMEOUT


def test_robots_that_head_for_the_same_cell_are_judged_a_collision(drive):
    team = drive(['...'], (0, 0), (0, 2))
    judge = Judge(team.floor, TARGETS, replace(EPISODE, start_ns=0))
    team.head_for((0, 1), (0, 1))
    team.run(PERIOD, lambda: judge.observe(team.world.time_ns, team.poses, team.world.touched))
    assert judge.verdict.outcome is Outcome.COLLISION
    assert 'touched' in judge.verdict.cause


def test_verdict_survives_its_json():
    verdict = judged(((0, 0), (1, 2)), ((0, 2), (0, 0)))
    assert Verdict.from_json(verdict.to_json()) == verdict
    lost = replace(verdict, cells=((None, (0, 0)),))
    assert Verdict.from_json(lost.to_json()) == lost


@pytest.mark.parametrize(
    'text',
    [
        '',
        '{',
        '[]',
        '7',
        '{}',
        '[' * 100_000,
        '{"episode": 1, "start_ns": 0, "period_ns": 1}',
        '{"episode": 1, "start_ns": 0, "period_ns": 1, "horizon": 1, "more": 1}',
        '{"episode": 1, "start_ns": 0, "period_ns": 0, "horizon": 1}',
        '{"episode": 1, "start_ns": 0, "period_ns": 1, "horizon": 0}',
        '{"episode": 1, "start_ns": -1, "period_ns": 1, "horizon": 1}',
        '{"episode": 1, "start_ns": 0.5, "period_ns": 1, "horizon": 1}',
        '{"episode": "1", "start_ns": 0, "period_ns": 1, "horizon": 1}',
        '{"episode": true, "start_ns": 0, "period_ns": 1, "horizon": 1}',
        '{"episode": 1, "start_ns": NaN, "period_ns": 1, "horizon": 1}',
    ],
)
def test_text_that_tells_no_episode_is_refused(text):
    with pytest.raises(RefusedMessageError):
        Episode.from_json(text)


@pytest.mark.parametrize('change', [{'outcome': 'draw'}, {'cells': 3}, {'cells': [[[1]]]}])
def test_text_that_tells_no_verdict_is_refused(change):
    import json

    verdict = judged(((0, 0), (1, 2)), ((0, 2), (0, 0)))
    with pytest.raises(RefusedMessageError):
        Verdict.from_json(json.dumps({**json.loads(verdict.to_json()), **change}))
