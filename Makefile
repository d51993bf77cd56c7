# Everything that is done with this project. `make` lists it.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory
# where rustup puts cargo, also before the next login
export PATH := $(PATH):$(HOME)/.cargo/bin
# where it is set, every one of the thousands of commands that tests start would compile drivelab anew
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
ENGINE := python/drivelab/_engine.abi3.so
ENGINE_SOURCES := $(shell find crates \( -name '*.rs' -o -name Cargo.toml \) 2>/dev/null) \
	Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# the binding is a Python module: its own test binary could not be linked
CARGO_TEST := cargo test --locked --workspace --exclude drivelab-python

.PHONY: help build demo test test-rust test-python test-vm prove fuzz lint lint-python lint-rust format bench docs gallery \
	site lock clean dev packages tests-compiled package try-package

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: $(ENGINE) ## Leave a working drivelab in .venv/bin (release build)

demo: build ## Measure a directory here (as root also a scratch drive) and write a report
	@$(BIN)/python tools/system_packages.py demo
	@$(BIN)/python tools/demo.py

test: packages ## Set up, lint, and run every test but those of test-vm
	@# libraries are fetched and unpacked by one processor
	@$(MAKE) -j2 build dev lint-rust
	@# for more than half of their time the tests of the crates need one processor
	@$(MAKE) -j2 --output-sync=target test-rust lint-python tests-compiled
	@$(MAKE) test-python

test-rust: ## Only the tests of the crates
	env -u MAKEFLAGS $(CARGO_TEST) $(ARGS)

# most tests share only processors, and many wait; tests/conftest.py names those that are alone
test-python: build dev ## Only the Python tests; ARGS="-k units" picks some
ifdef ARGS
	$(BIN)/python -m pytest -m "not vm" $(ARGS)
else
	$(BIN)/python -m pytest -m beside_others -n $$(($$(nproc) + 2)) --dist loadfile --no-loadscope-reorder
	$(BIN)/python -m pytest -m alone
endif

# every process that runs tests would compile all of them at the same time
tests-compiled: build dev
	@told=$$($(BIN)/python -m pytest -qq --collect-only) || { echo "$$told"; exit 1; }

test-vm: packages ## Tests in a virtual machine with drives of every kind; ARGS as above
	@$(MAKE) -j2 build dev
	$(BIN)/python -m pytest tests/vm -n auto --dist loadgroup $(ARGS)

prove: build dev ## Statistics at full size, and a thousand kills and signals as root (an hour); ARGS="-k quantiles" picks some
	cargo test --locked -p drivelab-sim -- --include-ignored
	FIO_SOURCE=$(FIO_SOURCE) $(BIN)/python -m pytest -q tests/prove/*.py $(ARGS)
	DRIVELAB_PROVE=1 $(BIN)/python -m pytest -q tests/device/test_killed_commands.py tests/device/test_resume.py \
		tests/device/test_settings_come_back.py tests/unit/state/settings/test_settings_come_back.py \
		tests/unit/analyse/test_change_points.py tests/cli/test_damaged_runs.py tests/device/test_fleet.py $(ARGS)

fuzz: ## Hostile input to the reader of block traces for an hour; SECONDS=60 for each of 8 kinds
	DRIVELAB_FUZZ_SECONDS=$(or $(SECONDS),450) cargo test --locked --profile fuzz -p drivelab-trace \
		--test reading_fuzz --test fuzz -- --test-threads=1 --nocapture

lint: build dev ## Formatting, lints, types and import rules
	@$(MAKE) -j2 --output-sync=target lint-python lint-rust

lint-python:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# not before it is known that there is a Rust
lint-rust: $(VENV)/.made
	cargo fmt --all --check
	env -u MAKEFLAGS cargo clippy --locked --workspace --all-targets --quiet -- -D warnings

format: dev ## Format everything
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cargo fmt --all

bench: build dev ## Measure drivelab itself beside its peers; writes docs/performance.md
	$(BIN)/python bench $(ARGS)

docs: build ## Write the pages that are made from the code
	$(BIN)/python tools/error_list.py
	$(BIN)/python tools/metric_list.py
	$(BIN)/python tools/experiment_format.py
	$(BIN)/python tools/fio_options.py

gallery: build dev ## Draw the pictures of docs/gallery.md from the stored runs of the tests
	$(BIN)/python tools/gallery.py

site: dev ## The documentation as a site: target/site/index.html
	$(BIN)/python -m sphinx --quiet --fail-on-warning -c tools/site -d target/site.doctrees . target/site

package: $(VENV)/.package build ## Make a wheel, a source distribution and a .deb: dist/
	@python3 tools/system_packages.py package
	@PYTHONPATH=python $(BIN)/python tools/package.py

try-package: ## Try what is in dist/ in clean systems, as root
	@python3 tools/system_packages.py package --install
	@PYTHONPATH=python $(BIN)/python tools/try_packages.py

lock: $(VENV)/.made ## Choose versions again: requirements/*.lock
	$(BIN)/python -m venv $(VENV)/lock
	$(VENV)/lock/bin/pip install --quiet uv
	$(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--custom-compile-command 'make lock' --extra all pyproject.toml requirements/run.in -o requirements/run.lock
	$(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--custom-compile-command 'make lock' requirements/dev.in -o requirements/dev.lock
	$(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--custom-compile-command 'make lock' requirements/package.in -o requirements/package.lock

clean: ## Remove everything that was built, the virtual environment included
	rm -rf $(VENV) target dist demo .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -f python/drivelab/_engine*.so
	find python tests tools bench -name __pycache__ -prune -exec rm -rf {} +

# The steps behind these names. Each leaves a file, so that nothing is done twice.

dev: $(VENV)/.dev

packages:
	@python3 tools/system_packages.py test --install

$(VENV)/.made:
	@tools/make_venv.sh $(VENV)
	@touch $@

$(VENV)/.run: requirements/run.lock $(VENV)/.made
	@echo "installing the libraries that drivelab uses (requirements/run.lock)"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.run
	@echo "installing what tests and lints use (requirements/dev.lock)"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(VENV)/.package: requirements/package.lock $(VENV)/.run
	@echo "installing what packages are made with (requirements/package.lock)"
	@$(PIP) install --require-hashes -r $<
	@touch $@

$(ENGINE): $(ENGINE_SOURCES) $(VENV)/.run
	@echo "building the engine"
	@env -u CONDA_PREFIX -u MAKEFLAGS PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked
	@touch $@
