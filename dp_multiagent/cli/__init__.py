"""One module per command of `dp_multiagent`."""
