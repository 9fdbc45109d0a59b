# The only entry. `make` alone lists the targets; each does all the set-up it needs.

# Tools like ip, ethtool and sshd live in sbin, which is not on everybody's PATH.
export PATH := $(PATH):/usr/sbin:/sbin
# Otherwise pytest rewrites the assertions of all tests anew in each process, 15 seconds of CPU time.
unexport PYTHONDONTWRITEBYTECODE
# Where a Chromium is looked for that Playwright brought, and one that is installed.
export PLAYWRIGHT_BROWSERS_PATH ?= $(CURDIR)/.tools/playwright
CHROMIUM ?= $(firstword $(foreach name,chromium google-chrome google-chrome-stable,$(shell command -v $(name))))
ifneq ($(CHROMIUM),)
export CHROMIUM
endif
BIN := .venv/bin
# The files that use a mark: to collect all tests takes some time. Those of test-fleet are for that target alone, and a file
# that is named is collected whatever its folder ignores.
marked = $(shell grep -rlF pytest.mark.$(1) tests --include=test_*.py --exclude-dir=sites | sort)
# The crates without I/O: their tests need neither root nor a network.
QUICK_CRATES := emulate record schema session sim workload
# Tests wait for a third of their time: three processes for two CPUs.
WORKERS ?= $(shell echo $$(($$(nproc) * 3 / 2)))
# A failing property test need not look for the smallest counterexample. A mutant that grows without end fails at 6 GB.
cargo-mutants = ulimit -v 6291456; PROPTEST_MAX_SHRINK_ITERS=0 .tools/cargo-mutants/bin/cargo-mutants mutants
# Exit codes for mutants that survived, or whose tests took too long: the list is the result.
survived = || { code=$$?; [ $$code -eq 2 ] || [ $$code -eq 3 ]; }
AGENT_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates python/whyperf.data -type f -not -path '*/tests/*')

.DEFAULT_GOAL := help
# No target but those of .venv is a file.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help:    ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: setup-run    ## a small window sweep on the embedded testbed, with a table and a report
	$(BIN)/whyperf run demo

quick: setup-test    ## the tests that need no root and no network: run them at every save
	cargo test --quiet --lib --tests --example verdicts --locked $(QUICK_CRATES:%=-p whyperf-%)
	$(BIN)/pytest --numprocesses $(WORKERS) --maxprocesses 6 --dist loadscope -m quick tests/unit tests/lab/unit tests/simulation tests/fuzz tests/style

test: setup-test    ## all tests but the slow ones: cargo test, then pytest in parallel where possible
	@rm -f target/flaky.txt
	cargo test --workspace --lib --bins --tests --example verdicts --example simulated --locked
	$(BIN)/pytest --numprocesses $(WORKERS) --maxprocesses 6 --dist loadscope --no-loadscope-reorder -m "not slow and not paced and not alone"
	$(BIN)/pytest --numprocesses 2 --dist worksteal -m "not slow and paced" $(call marked,paced)
	$(BIN)/pytest -m "not slow and alone" $(call marked,alone)
	@$(BIN)/python -m tests.reruns

flaky: setup-test    ## lists the tests that fail in RUNS runs (50) while two busy loops run (FLAKY="tests/unit/run" for a part)
	$(BIN)/python -m tests.shaken --runs $(or $(RUNS),50) $(FLAKY)

accuracy: setup-test    ## writes tests/accuracy.txt: how often the diagnosis is right on what is stored
	$(BIN)/python -m tests.accuracy

mutants-rust: setup-run .tools/cargo-mutants    ## cargo-mutants on the crates without I/O: hours; not part of test (RUST_MUTANTS="--shard 0/20" for a sample, "-f FILE" for a file)
	$(cargo-mutants) --output target/mutants -p whyperf-workload -p whyperf-emulate -p whyperf-schema $(RUST_MUTANTS) -- --tests $(survived)
	$(cargo-mutants) --output target/mutants-sim -p whyperf-sim $(RUST_MUTANTS) -- --lib $(survived)

test-long: setup-test    ## the slow tests, on a quiet machine: an hour; not part of test
	$(BIN)/pytest -m slow

simulate-protocol: setup-test    ## controller and agents in virtual time with faults, 10,000 seeds of runs and of watches (SIMULATE="--seeds 500" for less); make test runs some
	$(BIN)/python -m tests.simulation $(or $(SIMULATE),--seeds 10000)
	$(BIN)/python -m tests.simulation --watch $(or $(SIMULATE),--seeds 10000)

simulate-bugs: setup-test    ## how many of the planted protocol bugs the simulation finds; not part of test
	$(BIN)/python -m tests.simulation.planted

truth: setup-run    ## how often the diagnosis is correct, with injected bottlenecks: a quarter of an hour; writes docs/laboratory/accuracy.md
	$(BIN)/whyperf-lab truth --page docs/laboratory/accuracy.md

studies: setup-run    ## runs the commands of the five studies and writes docs/laboratory/studies.md: 28 minutes on a quiet machine, as root; resumes (STUDIES="atm" runs a part)
	$(BIN)/whyperf studies $(STUDIES) --run --out $(or $(STUDIES_RESULTS),target/studies) || [ $$? -eq 3 ]
	$(BIN)/whyperf studies --out $(or $(STUDIES_RESULTS),target/studies) --page docs/laboratory/studies.md >target/studies.txt || [ $$? -eq 3 ]

fuzz: setup-test    ## feeds changed inputs to all that reads bytes of others, FUZZ_SECONDS for each reader; not part of test
	@scripts/fuzz
	PYTHONPATH=.tools/fuzz $(BIN)/python -m tests.fuzz.run --seconds $(or $(FUZZ_SECONDS),600) $(FUZZ)

test-pipes: setup-test    ## conversations through pipes with faults, PIPE_RUNS of each fault: half an hour; not part of test
	WHYPERF_PIPE_RUNS=$(or $(PIPE_RUNS),100) $(BIN)/pytest tests/protocol/test_faulty_pipes.py -m slow

kills: setup-test    ## kills one process of a run after another, KILLS times, in every kind of run; not part of test
	$(BIN)/python -m tests.endurance.kills --kills $(or $(KILLS),1000) --log $(or $(KILLS_LOG),target/kills.jsonl)

soak: setup-test    ## makes SOAK short runs in a row and looks at what grows; not part of test
	WHYPERF_SOAK=$(or $(SOAK),500) $(BIN)/pytest tests/endurance/test_soak.py -m slow --capture=no

test-kernels: setup-run    ## the evidence on the kernels of Debian 11, 12 and 13, under qemu; not part of test
	@scripts/packages kernels
	@scripts/kernels
	WHYPERF_KERNELS=.tools/kernels $(BIN)/pytest tests/kernels

test-oracle: setup-run    ## the emulated path compared with user-mode Linux; needs an idle machine; not part of test
	@scripts/packages oracle
	WHYPERF_ORACLE=$$(scripts/oracle) $(BIN)/pytest tests/oracle

test-wan: setup-run    ## all transports over paths of 10, 80 and 180 ms at 20 Mbit/s: half an hour; not part of test
	@mkdir -p $(or $(WAN_RESULTS),target/wan)
	WHYPERF_WAN=$(abspath $(or $(WAN_RESULTS),target/wan)) $(BIN)/pytest tests/wan

test-fleet: setup-test    ## the same measurement by ssh, Slurm, podman exec and a stand-in of kubectl exec, as root; not part of test
	@scripts/packages fleet
	WHYPERF_FLEET=1 $(BIN)/pytest tests/sites

check: setup-test style unused dependencies    ## formatting, lints, types, plain English, spelling, dead code, dependencies, and whether the checked-in schemas are current
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	scripts/check-schemas
	scripts/check-scripts

unused: setup-run    ## code that nothing calls, and crates that nothing uses
	$(BIN)/vulture
	@for crate in . crates/probe/fuzz crates/schema/fuzz; do $(BIN)/cargo-shear --locked $$crate || exit; done

dependencies: setup-run    ## licences, duplicates, sources and advisories of all locks; says so where new advisories cannot be had
	@for crate in . crates/probe/fuzz crates/schema/fuzz; do \
	    $(BIN)/cargo-deny --locked --config deny.toml --manifest-path $$crate/Cargo.toml check --hide-inclusion-graph --allow unmatched-skip bans licenses sources || exit; done
	@$(BIN)/python -m scripts.advisories

style: setup-test    ## plain English: banned words, names and file names, sentences, Markdown headings, commit subjects
	@$(BIN)/pymarkdown scan $(shell git ls-files '*.md')
	@$(BIN)/python -m scripts.style
	@$(BIN)/typos

hooks:    ## makes git check each commit message while it is written
	git config core.hooksPath scripts/hooks

bench: setup-bench    ## goodput and CPU per KByte against iperf3 and nuttcp (BENCH="--pairs 3" for less), what emulated paths cost, and how fast commands start
	cargo bench --locked -p whyperf-emulate -p whyperf-path
	$(BIN)/python -m lab.bench $(BENCH)
	$(BIN)/python -m lab.bench.startup

prove-cost: setup-bench    ## that whyperf show --view cost and whyperf compare find planted costs: 45 minutes on a quiet machine, as root (PROVE_COST="planted --quick" for a part)
	$(BIN)/python -m lab.bench.cost $(PROVE_COST)

prove-watch: setup-bench setup-test    ## what whyperf watch costs, how soon it answers, and that nothing is left of a killed one: 45 minutes, as root (PROVE_WATCH="kills --quick")
	$(BIN)/python -m lab.bench.watch $(PROVE_WATCH)

prove-stages: setup-bench    ## that stage times add up, show planted delays, cost little and are not biased by sampling: 20 minutes on a quiet machine, as root (PROVE_STAGES="doses --quick")
	$(BIN)/python -m lab.bench.stages $(PROVE_STAGES)

prove-fleet: setup-bench setup-test    ## many hosts as namespaces: connections, starts, lost and slow hosts: 45 minutes on a quiet machine, as root (PROVE_FLEET="skew --quick")
	$(BIN)/python -m lab.bench.fleet $(PROVE_FLEET)

bench-model: prerequisites    ## segments per second that the model simulates on one CPU; needs an idle machine
	cargo run --release --locked -p whyperf-sim --example speed

schemas: setup-run    ## regenerates the JSON Schemas from the Rust types, the structures shared with BPF, the tables of docs/, the picture of ARCHITECTURE.md, and the rows of whyperf list
	WHYPERF_GENERATE=1 cargo test --quiet --locked -p whyperf-schema --test all codes::
	WHYPERF_GENERATE=1 cargo test --quiet --locked -p whyperf-bpf-build --test structures
	$(BIN)/whyperf-agent schema --out schemas
	$(BIN)/python scripts/wire_types.py >target/wire.py && mv target/wire.py python/whyperf/wire.py
	$(BIN)/python -m scripts.doc_tables
	$(BIN)/python -m scripts.rooms

dist: setup-run    ## wheels, Debian packages and a container image, into dist/ (DIST="wheel" for a part)
	@scripts/packages dist
	scripts/dist $(DIST)

agent-with-symbols: setup-run    ## installs an agent into .venv whose own functions have names in sampled stacks, until the agent is built again
	scripts/agent --symbols

screenshot: setup-test    ## runs the demo on a quiet machine and writes a picture of its report to docs/images/report.png
	$(BIN)/whyperf run demo --out $(or $(DEMO_RESULT),target/screenshot)
	$(BIN)/python -m scripts.screenshot $(or $(DEMO_RESULT),target/screenshot)/report.html docs/images/report.png

setup: setup-run setup-test setup-bench    ## everything the other targets install

# What changed since is compiled once, not by every command where PYTHONDONTWRITEBYTECODE is set.
setup-run: .venv/.agent-ready
	@ln -sf ../../lab/whyperf-lab $(BIN)/whyperf-lab
	@$(BIN)/python -m compileall -q python/whyperf lab
setup-test: setup-run
	@scripts/packages test
setup-bench: setup-run
	@scripts/packages bench

prerequisites:
	@scripts/prerequisites

.venv/.python-ready: requirements.lock scripts/python scripts/uv.txt | prerequisites
	@scripts/python
	@touch $@

.tools/cargo-mutants: | prerequisites
	cargo install --quiet --locked --root $@ --version 27.1.0 cargo-mutants

.venv/.agent-ready: .venv/.python-ready $(AGENT_SOURCES) scripts/agent | prerequisites
	@scripts/agent
	@touch $@

clean:    ## removes what was built and installed here; results stay
	rm -rf target dist .venv .tools python/whyperf/report/bokehjs .mypy_cache .ruff_cache .pytest_cache .hypothesis
