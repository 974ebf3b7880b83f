# `make test` and `make demo` set up all they need in .venv; see README.md.
#
#   make test [ARGS='-k name']   all tests, and the doctests of the core
#   make test NUMPY=1.26         the core's tests with the oldest numpy and scipy supported
#   make demo                    two robots drive, planned for privately
#   make lint, make bench        style and types; benchmarks
#   PYTHON=python3.12            choose the interpreter

SHELL := /bin/bash
.DEFAULT_GOAL := test
.PHONY: demo test lint bench setup python

# Another ROS installation, or the interpreter of another environment, must not leak into ours.
unexport AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH PYTHONPATH PYTHONHOME
unexport ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION RMW_IMPLEMENTATION
ifneq ($(_ROS_WHEELS_BOOTSTRAP_COMPLETE)$(AMENT_PREFIX_PATH),)
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
endif

ifdef NUMPY
VENV := .venv-numpy$(NUMPY)
PINS := requirements/numpy$(NUMPY).txt
SCOPE := --ignore=test/ros --ignore=test/test_build.py
else
VENV := .venv
PINS := requirements/dev.txt
SETUP_FLAGS := --interfaces
endif
BIN := $(VENV)/bin

# An environment keeps the interpreter that it was made with, unless another is named.
SUPPORTED := import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))
ifndef PYTHON
PYTHON := $(shell for python in $(BIN)/python python3 python3.1{4,3,2,1,0}; do \
	$$python -c '$(SUPPORTED)' 2>/dev/null && echo $$python && break; done)
endif

test: setup
	@$(BIN)/python -m pytest $(SCOPE) $(ARGS)

demo: setup
	@echo 'Two robots pass each other. Robot 2 sees of robot 1 only what it tells privately (epsilon 1 per episode).'
	@echo 'Planner, simulator, operator and robots are processes on ROS 2; time runs as fast as they can follow.'
	@$(BIN)/dp_multiagent run navigation --rate 0 --episodes 3 --record .cache/demo
	@echo; echo 'Planned as if it told the truth, the same robots fail:'
	@$(BIN)/dp_multiagent run navigation --rate 0 --episodes 3 --method baseline 2>/dev/null

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: setup
	@shopt -s nullglob; benchmarks=(benchmarks/bench_*.py); \
	if [ $${#benchmarks[@]} = 0 ]; then echo 'There are no benchmarks yet.'; fi; \
	for benchmark in "$${benchmarks[@]}"; do $(BIN)/python $$benchmark || exit 1; done

setup: python
	@$(PYTHON) tools/setup_venv.py $(VENV) $(PINS) $(SETUP_FLAGS)

python:
	@$(or $(PYTHON),false) -c '$(SUPPORTED)' 2>/dev/null || { \
	echo 'error: needs Python 3.10 to 3.14: install it (Debian, Ubuntu: apt install python3 python3-venv' \
	'python3-dev) or name one with make PYTHON=...' >&2; exit 1; }
	@test -f $(PINS) || { echo 'error: there are no pins for NUMPY=$(NUMPY), see requirements/' >&2; exit 1; }
