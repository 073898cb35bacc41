# Two commands matter to a newcomer: `make demo` and `make test`.
# Both make .venv first; Python 3.11+ and Java 17+ must be there.
.DELETE_ON_ERROR:
PYTHON ?= python3
BIN := .venv/bin
MINUTES ?=
SEED ?=
FIXED ?=
# What `make servers` built.
export PATH := $(CURDIR)/.servers:$(PATH)
# Tests start many processes: each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: alerts chart chaos demo test tests lab-tests other-tests fast night dashboards sbom servers bench bench-audit audit-proof cluster scale profile simulate worlds mutations fuzz attack soak lint format setup clean

setup: .venv/.ready

.venv/.ready: pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@$(PYTHON) -c 'import ensurepip, venv' || { echo 'Python lacks venv (Debian: apt-get install python3-venv)'; exit 1; }
	test -x $(BIN)/uv || { $(PYTHON) -m venv .venv && $(BIN)/pip install --quiet 'uv>=0.8'; }
	VIRTUAL_ENV=$(CURDIR)/.venv UV_PYTHON_DOWNLOADS=never $(BIN)/uv sync --quiet --active --frozen --inexact --extra apprise --extra lab --extra rmi --extra spark --extra zookeeper
	touch $@

demo: setup  ## two sites, a mirror, traffic and the agent; prints the page's address
	$(BIN)/mirrorwatch demo $(if $(MINUTES),--minutes $(MINUTES))

test:  ## linters and tests, the real lab included: half an hour
	$(MAKE) -k lint tests

# Two labs at a time, which mostly wait, beside what needs no Kafka.
tests: setup
	$(MAKE) -k -j2 -O lab-tests other-tests

lab-tests: setup
	$(BIN)/pytest -n 2 --dist loadfile -m 'lab and not long'

other-tests: setup
	$(BIN)/pytest -n 2 --dist loadfile -m 'not lab and not long'

night: setup  ## what `test` leaves out: ten clean minutes, older brokers, more faults: two hours
	status=0; \
	MIRRORWATCH_CLEAN_RUN_SECONDS=600 $(BIN)/pytest tests/lab/clean_run_test.py || status=1; \
	$(BIN)/pytest -n 2 --dist loadfile -m long || status=1; \
	exit $$status

# Folders where all is slow are not even imported; a timer is cheaper than a
# thread for each test.
fast: setup  ## what starts no process and waits for nothing: a minute
	MIRRORWATCH_QUICK=1 $(BIN)/pytest -n 2 --dist loadfile --timeout-method=signal $(patsubst %,--ignore=tests/%,deploy doctor fuzz kafka lab servers simulation) -m 'not lab and not browser and not influx and not slow and not spark and not long'

bench: setup  ## what the agent costs: 6, 1 and 24 canary partitions, then `scale`
	$(BIN)/python -m tools.bench.cost
	$(BIN)/python -m tools.bench.scale

scale: setup  ## what it costs on 1,172 topics, at rest and moving, and on 10,000 partitions: 15 minutes
	$(BIN)/python -m tools.bench.scale

profile: setup  ## the same sites: the agent's processor time by thread and by source file
	$(BIN)/python -m tools.bench.scale --sampled

bench-audit: setup  ## how fast an audit reads, beside Kafka's own consumer: half an hour
	$(BIN)/python -m tools.bench.audit

audit-proof: setup  ## what takes an audit long to prove: a million records, 600 random worlds, a cluster, kills, lost brokers
	MIRRORWATCH_AUDIT_THOUSANDS=1000 $(BIN)/pytest -v tests/proof

cluster: setup  ## the audit on a Spark cluster of three workers, one of them killed, by spark-submit, and with runs in S3: 15 minutes
	$(BIN)/pytest tests/proof/audit_cluster_test.py

simulate: setup  ## worlds by chance in virtual time, for MINUTES: prints those that fail
	$(BIN)/python -m tests.simulation --processes 2 --seconds $$((60 * $(or $(MINUTES),2)))

worlds: setup  ## two minutes of worlds drawn from the commit: lists those that are wrong
	$(BIN)/python -m tests.simulation --processes 2 --seconds 120 --commit "$$(git rev-parse HEAD)" --list tests/simulation/wrong_worlds.txt

mutations: setup  ## breaks rules of the agent one at a time: worlds must show each
	$(BIN)/python -m tests.simulation.mutations

fuzz: setup  ## hostile input for every decoder, for MINUTES: keeps and prints what fails
	$(BIN)/python -m tests.fuzz --seconds $$((60 * $(or $(MINUTES),60)))

attack: setup  ## misuses the web server of an agent that watches a lab, for MINUTES
	MIRRORWATCH_ATTACK_SECONDS=$$((60 * $(or $(MINUTES),10))) $(BIN)/pytest -s tests/proof/web_attack_test.py

chaos: setup  ## faults by chance on real brokers, all checks graded; SEED replays one
	$(BIN)/python -m tests.chaos --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED)) $(if $(MIRROR_KAFKA),--mirror-kafka $(MIRROR_KAFKA))

soak: setup  ## a long clean run with traffic; prints growth of memory
	$(BIN)/python -m tools.bench.soak --minutes $(or $(MINUTES),60) $(if $(FIXED),--fixed-topics)

dashboards: setup  ## generates dashboards/ from agent/mirrorwatch_dashboards
	$(BIN)/python -m mirrorwatch_dashboards dashboards

alerts: setup  ## generates alerts/ from the table in agent/mirrorwatch_alerting
	$(BIN)/python -m mirrorwatch_alerting alerts

sbom: setup  ## what is installed with the agent and for audits, as CycloneDX 1.5
	@$(BIN)/uv export --quiet --frozen --no-default-groups --extra apprise --extra msk-iam --extra rmi --extra spark --extra zookeeper --format cyclonedx1.5 --preview-features sbom-export

chart: setup  ## generates the schema of the Helm chart's values, and its README where helm-docs is
	$(BIN)/python deploy/helm/values_schema.py
	if command -v helm-docs >/dev/null; then helm-docs --log-level warning --chart-search-root deploy/helm; fi

servers:  ## builds InfluxDB 1.8 and 2.7 for tests, from Go modules: takes Go, and Rust
	nice tests/servers/build.sh .servers

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy agent sparkjobs tests deploy tools

format: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache
