"""Core objects to be sent, drawn by hypothesis."""

import string

import numpy as np
from hypothesis import strategies as st

from dp_multiagent.models.plan import Graph, LocalPolicy, PrivateState, TeamPlan
from dp_multiagent.planning.request import (
    METHODS,
    SynthesisProgress,
    SynthesisReport,
    SynthesisRequest,
)
from dp_multiagent.privacy.budget import PrivacyBudget, Unit


def unsigned(bits, least=0):
    return st.integers(least, 2**bits - 1)


def real(least=None, most=None):
    return st.floats(least, most, allow_nan=False, allow_infinity=False)


names = st.builds(
    lambda first, rest: first + rest,
    st.sampled_from(string.ascii_letters),
    st.text(string.ascii_letters + string.digits + '_', max_size=63),
)
plan_ids = st.binary(min_size=16, max_size=16)
probabilities = real(0, 1)


@st.composite
def graphs(draw, robots):
    """Draw an acyclic graph: along a random order, each robot may see those before it."""
    order = draw(st.permutations(range(robots)))
    pairs = [(order[i], order[j]) for i in range(robots) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Graph.from_edges(robots, edges)


@st.composite
def team_plans(draw, longest=2**32 - 1):
    robots = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    n = len(robots)
    return TeamPlan(
        plan_id=draw(plan_ids),
        game=draw(st.binary(min_size=32, max_size=32)),
        episode=draw(unsigned(32)),
        start_ns=draw(st.integers(0, 2**31 * 10**9 - 1)),
        period_ns=draw(st.integers(1, 2**31 * 10**9 - 1)),
        deadline=draw(real(0, 1).filter(lambda x: 0 < x < 1)),
        horizon=draw(st.integers(1, longest)),
        max_stale=draw(unsigned(16)),
        robots=tuple(robots),
        graph=draw(graphs(n)),
        epsilon=tuple(draw(st.lists(real(0), min_size=n, max_size=n))),
        adjacency=tuple(draw(st.lists(unsigned(16, least=1), min_size=n, max_size=n))),
    )


@st.composite
def plans_with_private_states(draw):
    """Draw a plan, the private state of one of its robots, and how many states that has."""
    plan = draw(team_plans())
    states = draw(st.integers(1, 2**32))
    state = PrivateState(
        plan_id=plan.plan_id,
        episode=plan.episode,
        step=draw(st.integers(0, plan.horizon)),
        robot=draw(st.integers(0, len(plan.robots) - 1)),
        state=draw(st.integers(0, states - 1)),
    )
    return plan, state, states


@st.composite
def plans_with_policies(draw):
    """Draw a plan and a policy for one of its robots."""
    plan = draw(team_plans(longest=4))
    robot = draw(st.integers(0, len(plan.robots) - 1))
    observed = plan.graph.observed[robot]
    by_step = draw(st.booleans())
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=2))
    seen = draw(st.lists(st.integers(1, 3), min_size=len(observed), max_size=len(observed)))
    rng = np.random.default_rng(draw(unsigned(32)))
    steps = (plan.horizon,) if by_step else ()
    table = rng.random((*steps, sizes[0], *seen, sizes[1])) + 1e-3
    own_state = rng.random(sizes) + 1e-3
    return plan, LocalPolicy(
        robot=robot,
        observed=observed,
        table=table / table.sum(axis=-1, keepdims=True),
        own_state=own_state / own_state.sum(axis=-1, keepdims=True),
        by_step=by_step,
    )


budgets = st.builds(
    PrivacyBudget,
    robot=unsigned(16),
    unit=st.sampled_from(Unit),
    epsilon_spent=real(0),
    epsilon_remaining=real(0),
    delta_spent=real(0),
    delta_remaining=real(0),
    releases=unsigned(64),
)

requests = st.builds(
    SynthesisRequest,
    scenario=st.text(
        st.characters(exclude_characters='\0', exclude_categories=['Cs']), min_size=1
    ),
    method=st.sampled_from(METHODS),
    epsilon=st.none() | real(0),
    adjacency=st.none() | unsigned(16, least=1),
    iterations=st.none() | unsigned(32, least=1),
    starts=st.lists(names, max_size=4).map(tuple),
)

progresses = st.builds(
    SynthesisProgress,
    iteration=unsigned(32),
    objective=real(),
    success_truthful=probabilities,
    success_private=probabilities,
    total_correlation=real(),
)

reports = st.builds(
    SynthesisReport,
    success_truthful=probabilities,
    success_private=probabilities,
    total_correlation=real(),
    objective=real(),
    expected_length=real(0),
    iterations=unsigned(32),
    gap=real(),
    seconds=real(0),
)
