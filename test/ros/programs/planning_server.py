"""The planner as its users start it: planning_server.py [OPTION...]."""

from dp_multiagent.nodes.planning_server import main

if __name__ == '__main__':
    raise SystemExit(main())
