"""The simulator, as it is."""

from dp_multiagent.nodes.simulator import main

if __name__ == '__main__':
    raise SystemExit(main())
