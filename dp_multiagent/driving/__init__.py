"""How a robot gets from cell to cell: metres, trajectories, commands, obstacles.

It stands apart from `models`, which knows no metres, and from `sim`, which a robot must not need.
"""
