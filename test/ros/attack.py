"""What an onlooker makes of private words, and what it would make of them in the model.

The best one takes the most likely true state at each step. It knows the map, the policies and the
mechanism, and sees all private words. Given them the robots are independent, so each is a hidden
Markov chain: its transition at step t is its policy averaged over actions, given what it had
heard, and what is observed is p_t given s_t and p_(t-1). A forward and a backward pass give the
probability of every state at every step.
"""

import numpy as np


def transitions(game, policies, i, words, t):
    """Return P(s_(t+1) | s_t) of robot i, given the private words up to t."""
    policy = policies[i]
    told = tuple(words[j][t] for j in policy.observed)
    table = policy.table[(slice(None), *told)]
    return np.einsum('sa,sax->sx', table, game.agents[i].tensor)


def what_was_told(game, policies, mechanisms, words, i):
    """Believe robot i."""
    return np.array(words[i][1:])


def what_is_told_next(game, policies, mechanisms, words, i):
    """Believe what robot i says one step later."""
    return np.array([*words[i][2:], words[i][-1]])


def most_likely(game, policies, mechanisms, words, i):
    """Return the most likely true state of robot i at steps 1 to T, given all words."""
    mdp, mu, word = game.agents[i], mechanisms[i].mu, words[i]
    steps = len(word)
    forward = np.zeros((steps, mdp.n_states))
    forward[0, mdp.initial] = 1.0
    kernels = [transitions(game, policies, i, words, t) for t in range(steps - 1)]
    seen = [None, *(mu[word[t - 1], :, word[t]] for t in range(1, steps))]
    for t in range(1, steps):
        forward[t] = (forward[t - 1] @ kernels[t - 1]) * seen[t]
        forward[t] /= forward[t].sum()
    backward = np.ones(mdp.n_states)
    found = np.zeros(steps, dtype=int)
    for t in range(steps - 1, -1, -1):
        found[t] = int(np.argmax(forward[t] * backward))
        if t:
            backward = kernels[t - 1] @ (seen[t] * backward)
            backward /= backward.max()
    return found[1:]


def play(game, policies, mechanisms, rng, horizon):
    """Play one episode in the model; return the true and the private states up to its end."""
    count = len(game.agents)
    true = [[agent.initial] for agent in game.agents]
    told = [[agent.initial] for agent in game.agents]
    for t in range(horizon):
        for i in range(count):
            row = transitions(game, policies, i, told, t)[true[i][t]]
            true[i].append(int(rng.choice(len(row), p=row)))
        now = tuple(states[t + 1] for states in true)
        for i in range(count):
            row = mechanisms[i].mu[told[i][t], now[i]]
            told[i].append(int(rng.choice(len(row), p=row)))
        if game.target[now] or game.avoid[now]:
            break
    return true, told
