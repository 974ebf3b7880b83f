"""Mechanisms with planted faults: each claims what the honest one does, and breaks it.

Noise comes from numpy and is rounded to the grid unless the fault is that it is not: fast, and
as good as exact noise for faults that are larger than 2^-30.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from dp_multiagent.privacy import audit_suite
from dp_multiagent.privacy.audit_runs import NoisyRuns, SharedRuns, Source, simulated_words
from dp_multiagent.privacy.gaussian import GaussianMechanism
from dp_multiagent.privacy.laplace import LaplaceMechanism
from dp_multiagent.privacy.units import PrivacyLoss


class RoundedNoise:
    """Continuous noise from numpy, rounded to whole steps; for tests only."""

    def __init__(self, rng):
        self.rng = rng

    def laplace(self, *, scale, size):
        return np.rint(self.rng.laplace(scale=scale, size=size)).astype(np.int64)

    def gaussian(self, *, scale, size):
        return np.rint(self.rng.normal(scale=scale, size=size)).astype(np.int64)


class Weaker:
    """Noise whose scale is too small by a factor."""

    def __init__(self, sampler, factor):
        self.sampler = sampler
        self.factor = factor

    def laplace(self, *, scale, size):
        return self.sampler.laplace(scale=int(self.factor * scale), size=size)

    def gaussian(self, *, scale, size):
        return self.sampler.gaussian(scale=int(self.factor * scale), size=size)


class Truncated(RoundedNoise):
    """Noise that is never larger than three times its scale."""

    def laplace(self, *, scale, size):
        return np.clip(super().laplace(scale=scale, size=size), -3 * scale, 3 * scale)


class TwoZeros(RoundedNoise):
    """The sampler that forgets to draw one of its two signed zeros again."""

    def laplace(self, *, scale, size):
        magnitude = self.rng.geometric(-math.expm1(-1 / scale), size=size) - 1
        return magnitude * self.rng.choice([-1, 1], size=size)


def honest_source(rng):
    return Source(RoundedNoise(rng), rng)


def noisy(honest, release, sampler, rng):
    """Return a target that claims what an honest one does, and releases otherwise."""
    return replace(honest, simulate=NoisyRuns(release, Source(sampler, rng)))


def with_sampler(build, sampler, rng):
    return build(Source(sampler, rng))


def laplace_scale_ten_percent_too_small(rng):
    return with_sampler(audit_suite.laplace, Weaker(RoundedNoise(rng), 0.9), rng)


def gaussian_scale_ten_percent_too_small(rng):
    return with_sampler(audit_suite.gaussian, Weaker(RoundedNoise(rng), 0.9), rng)


def messages_scale_ten_percent_too_small(rng):
    return with_sampler(audit_suite.messages, Weaker(RoundedNoise(rng), 0.9), rng)


def paper_scale_ten_percent_too_small(rng):
    return with_sampler(audit_suite.gaussian_paper, Weaker(RoundedNoise(rng), 0.9), rng)


def laplace_sensitivity_of_the_radius_not_the_diameter(rng):
    honest = audit_suite.laplace_mechanism()
    wrong = LaplaceMechanism(unit=honest.unit, loss=honest.loss, sensitivity=0.5, entries=2)
    return noisy(
        audit_suite.laplace(honest_source(rng)),
        lambda values, noise: wrong.release(values, sampler=noise),
        RoundedNoise(rng),
        rng,
    )


def messages_sensitivity_c_not_2c(rng):
    honest = audit_suite.message_mechanism()
    wrong = GaussianMechanism(unit=honest.unit, loss=honest.loss, sensitivity=1, entries=2)
    return noisy(
        audit_suite.messages(honest_source(rng)),
        lambda values, noise: audit_suite.send(wrong, values, noise),
        RoundedNoise(rng),
        rng,
    )


def messages_not_clipped(rng):
    honest = audit_suite.messages(honest_source(rng))
    return replace(
        honest,
        simulate=lambda x, side, n: honest.simulate(tuple(1.5 * np.array(x)), side, n),
    )


def message_sent_again_with_fresh_noise(rng):
    """Send one message more than was charged; the onlooker takes the mean of the two."""
    mechanism = audit_suite.message_mechanism()

    def send(values, noise):
        first, again = (audit_suite.send(mechanism, values, noise) for _ in range(2))
        return (first + again) / 2

    return noisy(audit_suite.messages(honest_source(rng)), send, RoundedNoise(rng), rng)


def messages_reuse_noise(rng):
    mechanism = audit_suite.message_mechanism()

    def send(values, noise):
        once = mechanism.release(np.zeros((len(values), 1, 2)), sampler=noise)
        return values + once

    return noisy(audit_suite.messages(honest_source(rng)), send, RoundedNoise(rng), rng)


def laplace_entries_share_noise(rng):
    mechanism = audit_suite.laplace_mechanism()

    def release(values, noise):
        return values + mechanism.release(np.zeros((len(values), 1)), sampler=noise)

    return noisy(audit_suite.laplace(honest_source(rng)), release, RoundedNoise(rng), rng)


def noise_of_a_fixed_seed(rng):
    mechanism = audit_suite.gaussian_mechanism()

    def release(values, noise):
        return values + mechanism.release(np.zeros((1, 2)), sampler=noise)

    source = RoundedNoise(np.random.default_rng(0))
    return noisy(audit_suite.gaussian(honest_source(rng)), release, source, rng)


def laplace_from_numpy(rng):
    """Add float noise to float values, scale and all as it should be (Mironov 2012)."""
    mechanism = audit_suite.laplace_mechanism()
    scale = float(mechanism.scale * mechanism.grid.step)
    return noisy(
        audit_suite.laplace(honest_source(rng)),
        lambda values, noise: values + rng.laplace(scale=scale, size=values.shape),
        RoundedNoise(rng),
        rng,
    )


def gaussian_from_numpy(rng):
    sigma = audit_suite.paper_mechanism().sigma
    return noisy(
        audit_suite.gaussian_paper(honest_source(rng)),
        lambda values, noise: values + rng.normal(scale=sigma, size=values.shape),
        RoundedNoise(rng),
        rng,
    )


def laplace_value_not_on_the_grid(rng):
    """Add noise on a grid to a value that is not rounded to it."""
    mechanism = audit_suite.laplace_mechanism()
    return noisy(
        audit_suite.laplace(honest_source(rng)),
        lambda values, noise: values + mechanism.release(np.zeros(values.shape), sampler=noise),
        RoundedNoise(rng),
        rng,
    )


def laplace_noise_truncated(rng):
    return with_sampler(audit_suite.laplace, Truncated(rng), rng)


def laplace_sampler_with_two_zeros(rng):
    honest = audit_suite.laplace_sampler(honest_source(rng))

    def release(values, noise):
        scale = audit_suite.COARSE_LAPLACE_SCALE
        return values.astype(int) + noise.laplace(scale=scale, size=len(values))[:, None]

    return noisy(honest, release, TwoZeros(rng), rng)


def response_forgets_the_number_of_symbols(rng):
    """Tell the truth as often as with two symbols."""
    honest = audit_suite.randomised_response(honest_source(rng))
    symbols = audit_suite.response_mechanism().symbols
    truth = 1 / (1 + math.exp(-honest.release.loss.epsilon))

    def tell(symbol, side, n):
        shift = np.where(rng.random(n) < truth, 0, rng.integers(1, symbols, size=n))
        return (symbol[0] + shift) % symbols

    return replace(honest, simulate=tell)


def trajectory_off_by_one_in_k(rng):
    honest = audit_suite.trajectory_simulated(honest_source(rng))
    wrong = audit_suite.robot_mechanism(epsilon=3, adjacency=2)
    return replace(
        honest, simulate=SharedRuns(lambda word, n: simulated_words(wrong, word, n, rng))
    )


def trajectory_epsilon_at_every_state(rng):
    honest = audit_suite.trajectory_simulated(honest_source(rng))
    wrong = audit_suite.robot_mechanism(epsilon=3, adjacency=1)
    return replace(
        honest, simulate=SharedRuns(lambda word, n: simulated_words(wrong, word, n, rng))
    )


def trajectory_told_twice(rng):
    """Tell the same word again after a restart, without a charge."""
    mechanism = audit_suite.robot_mechanism(epsilon=1, adjacency=1)
    words = audit_suite.words(mechanism, length=2, n=5)
    codes = mechanism.mdp.n_states**2

    def tell(word, n):
        first, again = (simulated_words(mechanism, word, n, rng) for _ in range(2))
        return first * codes + again

    return words_target(mechanism, words, tell, rng)


def words_target(mechanism, words, tell, rng):
    honest = audit_suite.trajectory_simulated(honest_source(rng))
    pairs = tuple(itertools.combinations(words, 2))
    return replace(honest, release=mechanism.planned(), pairs=pairs, simulate=SharedRuns(tell))


def printed_theorem_1(mdp, epsilon, adjacency):
    """Return mu with the tau that is printed, its + 1 in the exponent."""
    rho = mdp.out_degree.astype(float)
    tau = 1 / ((rho - 1) * math.exp(-epsilon / adjacency + 1))
    return table_of(mdp, lambda p, s: tau[p])


def truth_even_if_infeasible(mdp, epsilon, adjacency):
    honest = audit_suite.robot_mechanism(epsilon=epsilon, adjacency=adjacency).mu.copy()
    p, s = np.nonzero(~mdp.feasible)
    honest[p, s] = np.eye(mdp.n_states)[s]
    return honest


def degree_of_the_true_state(mdp, epsilon, adjacency):
    """Use rho(s) where rho(p) belongs."""
    tau = 1 / ((mdp.out_degree - 1) * math.exp(-epsilon / adjacency) + 1)
    return table_of(mdp, lambda p, s: tau[s])


def table_of(mdp, tau):
    """Return mu of a mechanism that tells the truth with probability tau(p, s) if feasible."""
    mu = np.zeros((mdp.n_states,) * 3)
    for p in range(mdp.n_states):
        successors = mdp.successors(p)
        for s in range(mdp.n_states):
            if s in successors:
                mu[p, s, successors] = (1 - tau(p, s)) / (len(successors) - 1)
                mu[p, s, s] = tau(p, s)
            else:
                mu[p, s, successors] = 1 / len(successors)
    return mu


def words_of(table, epsilon, adjacency):
    """Return a fault of the trajectory mechanism that is given by its table mu."""

    def fault(rng):
        mechanism = audit_suite.robot_mechanism(epsilon=epsilon, adjacency=adjacency)
        ends = np.cumsum(table(mechanism.mdp, epsilon, adjacency), axis=2)
        n_states = mechanism.mdp.n_states

        def tell(word, n):
            codes, last = np.zeros(n, dtype=int), np.full(n, mechanism.mdp.initial)
            for state in word:
                at_or_below = rng.random(n)[:, None] >= ends[last, state]
                last = np.minimum(at_or_below.sum(axis=1), n_states - 1)
                codes = codes * n_states + last
            return codes

        words = audit_suite.words(mechanism, length=3, n=8)
        return words_target(mechanism, words, tell, rng)

    fault.__name__ = table.__name__
    return fault


def textbook_gaussian_beyond_its_proof(rng):
    """Take sqrt(2 ln(1.25 / delta)) / epsilon at epsilon = 15: a tenth too little noise."""
    unit = audit_suite.gaussian_mechanism().unit
    loss = PrivacyLoss(epsilon=15, delta='1e-5')
    claimed = GaussianMechanism(unit=unit, loss=loss, sensitivity=1, entries=2)
    textbook = math.sqrt(2 * math.log(1.25e5)) / 15
    honest = replace(audit_suite.gaussian(honest_source(rng)), release=claimed.planned())
    return noisy(
        honest,
        lambda values, noise: claimed.release(values, sampler=noise),
        Weaker(RoundedNoise(rng), textbook / claimed.sigma),
        rng,
    )


FAULTS = (
    laplace_scale_ten_percent_too_small,
    gaussian_scale_ten_percent_too_small,
    messages_scale_ten_percent_too_small,
    paper_scale_ten_percent_too_small,
    laplace_sensitivity_of_the_radius_not_the_diameter,
    messages_sensitivity_c_not_2c,
    messages_not_clipped,
    message_sent_again_with_fresh_noise,
    messages_reuse_noise,
    laplace_entries_share_noise,
    noise_of_a_fixed_seed,
    laplace_from_numpy,
    gaussian_from_numpy,
    laplace_value_not_on_the_grid,
    laplace_noise_truncated,
    laplace_sampler_with_two_zeros,
    response_forgets_the_number_of_symbols,
    trajectory_off_by_one_in_k,
    trajectory_epsilon_at_every_state,
    trajectory_told_twice,
    words_of(printed_theorem_1, epsilon=0.2, adjacency=2),
    words_of(truth_even_if_infeasible, epsilon=1, adjacency=2),
    words_of(degree_of_the_true_state, epsilon=1, adjacency=2),
    textbook_gaussian_beyond_its_proof,
)
