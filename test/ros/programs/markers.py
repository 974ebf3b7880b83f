"""The view of a team as its users start it: markers.py [OPTION...]."""

from dp_multiagent.nodes.markers import main

if __name__ == '__main__':
    raise SystemExit(main())
