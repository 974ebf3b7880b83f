"""A scenario as a world with physics; only this part of the package knows MuJoCo."""
