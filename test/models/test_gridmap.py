import numpy as np
import pytest

from dp_multiagent.errors import ModelError
from dp_multiagent.models import scenarios
from dp_multiagent.models.gridmap import MOVES, GridMap


def paper_map():
    return GridMap(('!!#!.', '.....', '..#..', '.....', '..#..'), slip=0.05)


def test_paper_map_has_the_cells_of_the_authors_code():
    grid = paper_map()
    assert len(grid.cells) == 22
    assert [grid.is_wall(cell) for cell in ((0, 2), (2, 2), (4, 2), (1, 2), (3, 2))] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert [grid.cells[s] for s in np.flatnonzero(grid.deadly)] == [(0, 0), (0, 1), (0, 3)]


def test_intended_cell_gets_the_rest_and_other_successors_share_the_slip():
    grid = paper_map()
    mdp = grid.mdp(start=(4, 0))
    row = mdp.tensor[grid.index[3, 1], list(MOVES).index('up')]
    outcome = {grid.cells[s]: row[s] for s in np.flatnonzero(row)}
    assert outcome == pytest.approx(
        {(2, 1): 0.95, (3, 1): 0.0125, (3, 0): 0.0125, (3, 2): 0.0125, (4, 1): 0.0125}
    )


def test_staying_slips_too():
    grid = paper_map()
    row = grid.mdp(start=(4, 0)).tensor[grid.index[4, 0], list(MOVES).index('stay')]
    outcome = {grid.cells[s]: row[s] for s in np.flatnonzero(row)}
    assert outcome == pytest.approx({(4, 0): 0.95, (3, 0): 0.025, (4, 1): 0.025})


@pytest.mark.parametrize(('cell', 'move'), [((4, 0), 'left'), ((4, 1), 'right')])
def test_an_action_into_wall_or_border_is_uniform(cell, move):
    grid = paper_map()
    mdp = grid.mdp(start=(4, 0))
    s = grid.index[cell]
    row = mdp.tensor[s, list(MOVES).index(move)]
    np.testing.assert_allclose(row[mdp.successors(s)], 1 / mdp.out_degree[s])


def test_a_cell_without_neighbours_is_never_left():
    mdp = GridMap(('.#.',), slip=0.2).mdp(start=(0, 0))
    np.testing.assert_array_equal(mdp.tensor[0, :, 0], 1)


@pytest.mark.parametrize(
    ('drawing', 'slip', 'problem'),
    [
        ((), 0.1, 'at least one cell'),
        (('..', '.'), 0.1, 'row 1 has 1 cells, row 0 has 2'),
        (('.x',), 0.1, "row 0 has 'x'"),
        (('..',), 1.1, 'slip 1.1 is not a probability'),
        (('..',), float('nan'), 'slip nan is not a probability'),
    ],
)
def test_refuses_what_is_no_map(drawing, slip, problem):
    with pytest.raises(ModelError, match=problem):
        GridMap(drawing, slip)


def test_refuses_a_start_in_a_wall():
    with pytest.raises(ModelError, match=r'start \(0, 2\) is a wall'):
        paper_map().mdp(start=(0, 2))


def test_shipped_navigation_fails_in_deadly_cells_and_in_one_cell_and_allows_swaps():
    scenario = scenarios.load(scenarios.find('navigation'))
    game = scenario.game()
    index = scenario.grid.index
    assert game.initial == (index[4, 0], index[4, 4])
    assert game.target[index[4, 3], index[4, 1]]
    assert game.target.sum() == 1
    assert game.causes['deadly cell'].sum() == 22**2 - 19**2
    assert game.causes['collision'].sum() == 22
    at_doors = (index[1, 2], list(MOVES).index('right'), index[1, 3], list(MOVES).index('left'))
    swapped = np.zeros(game.shape)
    swapped[index[1, 3], index[1, 2]] = 1
    assert game.expectation(swapped)[at_doors] == pytest.approx(0.95**2)
