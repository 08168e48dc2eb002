# make swiss   a first tournament of real debates on this machine
# make test    the fast tests
# make check   everything that CI runs
PYTHON ?= python3
# An index that holds CPU builds of torch, where the default one would bring gigabytes of CUDA.
TORCH_INDEX ?=
BIN := .venv/bin
INSTALLED := .venv/.installed
TRAINED := runs/adapters
FAST := not model and not faults and not e2e
# As many processes as there are cores, and no more threads than that.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile --durations 15

.PHONY: swiss test check slow lint install model adapters loop clean

swiss: install model
	$(BIN)/python -m tournaments.swiss --config configs/swiss/smoke.yaml

test: install
	$(PYTEST) -m "$(FAST)"

check: test slow lint

# The tests that need the embedded model, kill processes or open a browser; they skip with a reason where they cannot run.
slow: install
	-$(BIN)/python -m debate.models.embedded
	$(PYTEST) -m "not ($(FAST))"

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

install: $(INSTALLED)

# The adapters that ship, trained anew (docs/adapters.md): about an hour and a quarter on two cores. Started again, it goes on.
adapters: install model
	$(call trained,judge,training.finetune_judge --config configs/finetune_judge/smollm2.yaml)
	$(call trained,lesson-3,training.finetune_judge --config configs/finetune_judge/lesson.yaml)
	$(call trained,held-out-judge,training.finetune_judge --config configs/finetune_judge/smollm2.yaml --seed 3 \
		--start $(TRAINED)/lesson-3/adapter --data.0.debates "dossiers:1700?seed=3" --data.1.debates "dossiers:1100?seed=13")
	$(call trained,debater,training.finetune_debater --config configs/finetune_debater/made.yaml)
	for name in judge held-out-judge debater; do \
		mkdir -p data/adapters/$$name && install -m 644 $(TRAINED)/$$name/adapter/* data/adapters/$$name; done

# Two iterations of the closed loop, all of it real: shows that it works, and claims nothing.
loop: install model
	$(BIN)/python -m training.loop --config configs/loop/smoke.yaml

# A command whose run is kept in a folder, or what is left of it.
trained = if [ -d $(TRAINED)/$(1) ]; then $(BIN)/python -m $(firstword $(2)) --resume $(TRAINED)/$(1); \
	else $(BIN)/python -m $(2) --output $(TRAINED)/$(1); fi

# The embedded model, made once in the user's cache folder.
model: install
	$(BIN)/python -m debate.models.embedded

$(INSTALLED): pyproject.toml constraints.txt build_data.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Dissoi needs Python 3.11 or newer; name one with make PYTHON=..."; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	# torch by its exact version first: a resolver that is free to choose may take a CUDA build.
	$(BIN)/python -m pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(INSTALLED)

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
