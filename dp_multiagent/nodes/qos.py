"""The quality of service of every topic of this package; nodes take it only from here.

No profile has a deadline or a lifespan: offers that do not match are dropped without a word by
the middleware, and whether a message is late is for the step protocol of the plan to say.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _reliable(durability: DurabilityPolicy, depth: int) -> QoSProfile:
    return QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE,
        durability=durability,
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
    )


# Latched: who joins late or restarts must still learn the plan and the policy that are in force.
TEAM_PLAN = _reliable(DurabilityPolicy.TRANSIENT_LOCAL, depth=1)
LOCAL_POLICY = _reliable(DurabilityPolicy.TRANSIENT_LOCAL, depth=1)

# Latched: what was spent stays true until the next release.
BUDGET = _reliable(DurabilityPolicy.TRANSIENT_LOCAL, depth=1)

# Latched: what a robot does, in its own domain.
STATUS = _reliable(DurabilityPolicy.TRANSIENT_LOCAL, depth=1)

# Not latched: an old step is of no use to who joins late. A robot whose clock is ahead must not
# overwrite the step that is still awaited, so a few are kept.
PRIVATE_STATE = _reliable(DurabilityPolicy.VOLATILE, depth=4)

# What a robot's own domain has: who measures is heard best-effort, as any driver offers it, and
# only the latest counts; what we send is reliable, as any driver may ask for it.
MEASURED = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
)
ODOMETRY = _reliable(DurabilityPolicy.VOLATILE, depth=1)
VELOCITY = _reliable(DurabilityPolicy.VOLATILE, depth=1)
CLOCK = _reliable(DurabilityPolicy.VOLATILE, depth=1)

# The operator's domain; latched, so that nothing is missed by who starts a little later.
EPISODE = _reliable(DurabilityPolicy.TRANSIENT_LOCAL, depth=1)
VERDICT = _reliable(DurabilityPolicy.TRANSIENT_LOCAL, depth=8)
