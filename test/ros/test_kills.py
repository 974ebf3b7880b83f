"""Every process of a team is killed once; `benchmarks/bench_kills.py` does it twenty times."""

import kills


def test_team_survives_the_death_of_each_process_and_tells_nothing_unpaid(team_domain):
    report = kills.run(team_domain, kills=1)
    assert set(report['kills'].values()) == {1}
    assert report['private_states'] > 50
    assert report['told_without_charge'] == 0
    assert report['told_twice_differently'] == 0
    assert report['episodes_charged_twice'] == 0
    assert report['tracebacks'] == 0
    assert report['status'] == 0
