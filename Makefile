# make demo       set up what is missing and run the node on the shipped scene until Ctrl-C
# make test       set up what is missing and run the tests; expensive ones take turns from commit to commit
# make test-full  every test, with all examples
# make test-indices  computing tests with kernels that check every index of an array
# make hostile    read every hostile input: files of strangers that must do no harm
# make workspace  build the ROS packages with colcon against the wheels, and test what only they have
# make bench      measure speed beside Drake and MuJoCo into benchmarks/results
# make bench-ros  measure the node: jitter over ten minutes, latency, lock-step, cost of publishing
# make gpu-check  on a machine with a GPU: agreement of batches and large patches with the processor, and their speed
# make robots     public robots, tried one by one: ROBOTS='example-robot-data=FOLDER …' says where their files are
# make tasks      every shipped task headless, SEEDS=1 draws of each, into build/tasks
# make parts      bolts, nuts, pegs and gears of Factory: PARTS=IsaacGymEnvs/assets says where their files are
# make farms      random scenes by the hundred thousand, each step checked, into benchmarks/results
# make validation run every experiment and write docs/validation.md with their numbers and pictures
# make docs       write the site to build/docs/index.html
# make lint       style, types, the one-way flow of the rooms, the Dockerfile
# make setup      only set up
# make clean      remove everything that was set up or built
.DEFAULT_GOAL := demo
.PHONY: demo scene-exists test test-computing test-realtime test-full test-costs test-indices hostile workspace bench bench-ros gpu-check farms robots tasks parts validation docs lint setup clean
.DELETE_ON_ERROR:
SHELL := /bin/bash

SCENE ?= config/scenes/spatula_slip.yaml
DURATION ?= 0
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what is imported, on the first import; pip would compile everything, and take as long again. Of what an
# editable installation is, setuptools warns in twelve lines each time.
PIP_INSTALL := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
PACKAGES := ros2_ws/src tests/workspace
# Options for pytest, beside the tests that PYTEST_ARGS chooses.
PYTEST_FLAGS ?=
TURNS ?= --turns
REALTIME = $(shell grep -rl --include='test_*.py' 'pytest.mark.realtime' tests)
PACKAGING := pyproject.toml constraints.txt ros2_ws/src/hydro_sim/setup.py

# pip compiles nothing ahead (below): where Python may not keep bytecode, every start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# The wheels bring their own ROS. One that is sourced from /opt/ros would be mixed into it.
unexport PYTHONPATH AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH ROS_DISTRO RMW_IMPLEMENTATION
ifneq ($(AMENT_PREFIX_PATH),)
unexport LD_LIBRARY_PATH
endif

demo: export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
demo: scene-exists $(VENV)/.demo-ready
	@$(BIN)/python -m hydro_sim --ros-args --params-file config/node.yaml \
		-p scene:='$(SCENE)' -p duration:=$(DURATION) -p viewer:=true -p viewer_open:=true

# Setting up takes a minute; whoever mistypes a name should not hear of it after that.
scene-exists:
	@[[ '$(SCENE)' == '~'* || -e '$(SCENE)' || -e 'config/scenes/$(SCENE).yaml' ]] || { \
		echo "error: SCENE=$(SCENE): is neither a file nor a shipped scene; use one of" \
			"$(basename $(notdir $(wildcard config/scenes/*.yaml)))" >&2; exit 1; }

# Numba starts threads as it likes; the machine's cores are for the stepping and the publishing thread. What measures real
# time comes by itself, the rest beside each other: processes under test wait for each other half of their time, so there
# may be more than cores. Files come in their own order: a long one would come last for the few tests that it has.
# Expensive tests take turns from commit to commit, but for full runs (tests/support/turns.py).
test test-computing test-realtime: export OMP_NUM_THREADS ?= 1
ifdef PYTEST_ARGS
test: $(VENV)/.browser-ready
	$(BIN)/python -m pytest $(PYTEST_FLAGS) $(PYTEST_ARGS)
else
test: test-computing
	$(MAKE) test-realtime
endif

test-computing: $(VENV)/.browser-ready
	$(BIN)/python -m pytest $(PYTEST_FLAGS) --numprocesses 3 --dist loadfile --no-loadscope-reorder -m 'not realtime' $(TURNS)

test-realtime: $(VENV)/.browser-ready
	$(BIN)/python -m pytest $(PYTEST_FLAGS) -m realtime $(REALTIME)

test-full:
	$(MAKE) test TURNS= PYTEST_FLAGS='$(PYTEST_FLAGS) --hypothesis-profile=full'

# What of a quick run is expensive, for the turns.
test-costs:
	$(MAKE) test-computing TURNS=--measure-costs

# Checked kernels have a cache of their own, and no vector instructions.
test-indices: export HYDRO_SIM_CHECK_INDICES := 1
test-indices: export HYDRO_SIM_CACHE_DIR := $(abspath build/checked)
test-indices: export OMP_NUM_THREADS ?= 1
test-indices: $(VENV)/.test-ready
	$(BIN)/python -m pytest $(PYTEST_FLAGS) --numprocesses auto --dist loadfile $(TURNS) \
		--deselect tests/contact/test_lanes.py::test_lanes_are_vector_instructions \
		$(addprefix tests/,contact contact_models dynamics geometry simulation solvers)

hostile: $(VENV)/.test-ready
	$(MAKE) test PYTEST_ARGS=tests/hostile PYTEST_FLAGS='$(PYTEST_FLAGS) --hypothesis-profile=full'

# The environment's prefix is to colcon what /opt/ros/jazzy is on a machine with ROS.
workspace: export PATH := $(abspath $(BIN)):$(PATH)
workspace: export AMENT_PREFIX_PATH := $(abspath $(VENV))
workspace: export CMAKE_PREFIX_PATH := $(abspath $(VENV))
workspace: export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
workspace: $(VENV)/.workspace-ready
	colcon --log-base log build --base-paths $(PACKAGES) \
		--cmake-args "-DPython3_EXECUTABLE=$(abspath $(BIN))/python"
	colcon --log-base log test --base-paths $(PACKAGES) --packages-select hydro_sim_bringup \
		--event-handlers console_direct+ --return-code-on-test-failure
	source install/setup.bash && python -m pytest $(PYTEST_FLAGS) --strict-skips --allowed-skips /dev/null \
		tests/ros/test_controllers_actions.py tests/ros/test_standard_services.py

bench: export OMP_NUM_THREADS ?= 1
bench: $(VENV)/.test-ready
	@for name in spatula_slip face_scaling nested_solids step_profile representations step_cost error_control islands rigid_stack pancake_flip geometry patch_quality startup recording viewer ros_publishing; do $(BIN)/python benchmarks/$$name.py || exit 1; done

bench-ros: export OMP_NUM_THREADS ?= 1
bench-ros: export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
bench-ros: $(VENV)/.test-ready
	@for name in hil_jitter command_latency lock_step shared_memory single_steps bystanders ros_publishing spawning; do $(BIN)/python benchmarks/$$name.py || exit 1; done

gpu-check: export OMP_NUM_THREADS ?= 1
gpu-check: $(VENV)/.test-ready
	$(BIN)/python -m pytest $(PYTEST_FLAGS) tests/compilation/test_side_by_side.py tests/compilation/test_grids.py \
		tests/simulation/test_batches.py tests/simulation/test_batch_contacts.py tests/contact/test_large_patches.py
	$(BIN)/python benchmarks/gpu.py
	$(BIN)/python benchmarks/big_patch.py

SEEDS ?= 1
tasks: export OMP_NUM_THREADS ?= 1
tasks: $(VENV)/.test-ready
	@mkdir -p build/tasks
	@for name in $$($(BIN)/python -c 'from hydro_sim_core.tasks import TASKS; print(*TASKS)'); do \
	  echo "$$name"; \
	  $(BIN)/hydro-sim task $$name --seeds $(SEEDS) --json build/tasks/$$name.json --overwrite || failed="$$failed $$name"; \
	done; test -z "$$failed" || { echo "not all succeeded:$$failed"; exit 1; }

robots: export OMP_NUM_THREADS ?= 1
robots: $(VENV)/.test-ready
	$(BIN)/python benchmarks/robot_table.py --source $(ROBOTS)

parts: export OMP_NUM_THREADS ?= 1
parts: $(VENV)/.test-ready
	$(BIN)/python benchmarks/factory_parts.py $(PARTS)

farms: export OMP_NUM_THREADS ?= 1
farms: $(VENV)/.test-ready
	@for name in reliability point_reliability; do $(BIN)/python benchmarks/$$name.py || exit 1; done

validation: export OMP_NUM_THREADS ?= 1
validation: $(VENV)/.test-ready
	$(BIN)/hydro-sim validate --all --out docs/validation --overwrite

docs: $(VENV)/.test-ready
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet docs build/docs

lint: $(VENV)/.test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy hydro_sim_core ros2_ws/src/hydro_sim/hydro_sim ros2_ws/src/hydro_sim_bringup/hydro_sim_bringup benchmarks
	$(BIN)/hadolint Dockerfile

setup: $(VENV)/.test-ready

clean:
	rm -rf $(VENV) build docs/api install log

$(BIN)/python:
	@for candidate in python3.12 python3.11 python3; do \
		if $$candidate -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; then \
			echo "setting up $(VENV) with $$($$candidate --version)"; \
			$$candidate -m venv $(VENV) && exit 0; \
			rm -rf $(VENV); \
			echo "error: $$candidate cannot make a virtual environment; install it: apt install python3-venv" >&2; \
			exit 1; \
		fi; \
	done; \
	echo "error: no Python 3.11 or 3.12 found; install one: from apt on Debian 12 and Ubuntu 24.04, elsewhere with uv or pyenv" >&2; \
	exit 1

# A new pip finds versions that fit in half of the time. While ROS is installed the kernels are compiled, and the scene's
# meshes are made.
$(VENV)/.demo-ready: $(PACKAGING) | $(BIN)/python
	$(PIP_INSTALL) --upgrade pip
	$(PIP_INSTALL) -e .
	@trap 'kill $$compiling 2>/dev/null' EXIT; $(BIN)/hydro-sim compile '$(SCENE)' & compiling=$$!; \
	$(PIP_INSTALL) -e '.[ros]' -e ros2_ws/src/hydro_sim && wait $$compiling
	@touch $@

$(VENV)/.test-ready: $(PACKAGING) $(VENV)/.demo-ready
	$(PIP_INSTALL) -e '.[ros,test]'
	@touch $@

$(VENV)/.browser-ready: .ci/browser $(VENV)/.test-ready
	@.ci/browser
	@touch $@

$(VENV)/.workspace-ready: $(PACKAGING) tests/workspace/adapt_wheels.py $(VENV)/.test-ready
	$(PIP_INSTALL) -e '.[ros,workspace]'
	$(BIN)/python tests/workspace/adapt_wheels.py
	@touch $@
