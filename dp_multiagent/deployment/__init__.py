"""Which processes make up a team: described once as data, read by `run` and the launch files."""
