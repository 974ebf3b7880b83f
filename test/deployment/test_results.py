"""What an operator writes down survives it."""

import pytest

from dp_multiagent.deployment.results import EpisodeResult, Results
from dp_multiagent.errors import DpMultiagentError

RESULT = EpisodeResult(episode=4, outcome='success', step=7, epsilon_spent={'robot1': 2.0})


def test_results_are_read_as_they_were_noted(tmp_path):
    results = Results(tmp_path / 'results')
    assert (results.plan(), results.episodes()) == (None, [])
    results.note_plan({'success_private': 0.9})
    results.note(RESULT)
    assert results.plan() == {'success_private': 0.9}
    (episode,) = results.episodes()
    assert episode.succeeded
    assert (episode.episode, episode.step, episode.epsilon_spent) == (4, 7, {'robot1': 2.0})


def test_line_that_was_cut_off_is_as_if_it_had_not_been_begun(tmp_path):
    path = tmp_path / 'results'
    Results(path).note(RESULT)
    text = path.read_text()
    path.write_text(text + text[:-5])
    assert len(Results(path).episodes()) == 1
    Results(path).note(RESULT)
    assert len(Results(path).episodes()) == 2


def test_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DpMultiagentError, match='nowhere'):
        Results(tmp_path / 'nowhere' / 'results').note(RESULT)
