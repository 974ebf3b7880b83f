"""A node of this package as its users start it: node.py MODULE [OPTION...]."""

import importlib
import sys

if __name__ == '__main__':
    _, name, *options = sys.argv
    raise SystemExit(importlib.import_module(f'dp_multiagent.nodes.{name}').main(options))
