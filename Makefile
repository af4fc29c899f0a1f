# Every target sets up its own tools (scripts/setup.sh) and calls cargo; the logic is in xtask/.
SETUP := ./scripts/setup.sh
RUN := $(SETUP) cargo --locked
BUILD := $(SETUP) --build cargo --locked
BARO := $(SETUP) --build "$${CARGO_TARGET_DIR:-target}/release/baro"

.PHONY: help wheel demo test test-full release install fmt lint bench lab lab-papers clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile

release: ## build baro, its listener, baro-lab and the interposer (a quarter of an hour on two processors)
	@$(BUILD) build --release -p baro-cli -p baro-lake -p baro-listen -p baro-lab -p baro-preload
	@$(BUILD) build --release -p baro-serve

install: ## build and install baro below PREFIX=/usr/local, with man pages and completions (DESTDIR before it; builds first)
	@[ -n "$${SUDO_USER:-}" ] && [ -x "$${CARGO_TARGET_DIR:-target}/release/baro" ] || \
		{ $(BUILD) build --release -p baro-cli -p baro-lake -p baro-listen -p baro-preload && $(BUILD) build --release -p baro-serve; }
	@PREFIX="$(or $(PREFIX),/usr/local)" DESTDIR="$(DESTDIR)" scripts/install.sh "$${CARGO_TARGET_DIR:-$$PWD/target}/release"

wheel: ## the Python package, in target/wheels (five minutes)
	@$(BUILD) xtask wheel

demo: ## record beside a disk-hungry neighbour, show who waited, verify (a minute, after a build of ten)
	@$(BUILD) build --release -p baro-cli
	@$(BARO) demo $(if $(filter 0,$(shell id -u)),--dir /var/tmp/baro-demo)

test: ## all checks and tests of each push, as CI runs them (25 minutes on two processors)
	@$(SETUP) scripts/with-tracefs.sh cargo --locked xtask ci

test-full: ## the longer ones that are due: boards, power cuts, packages (goes on where it was stopped)
	@$(SETUP) scripts/with-tracefs.sh cargo --locked xtask full

fmt: ## format the code
	@$(BUILD) fmt --all

lint: ## format check, clippy, tidy
	@$(RUN) xtask ci fmt tidy clippy

bench: ## measure every row of the results table on this machine (root, 80 minutes)
	@$(RUN) xtask results

lab: ## other kernels, failing disks and power cuts in QEMU, kept in target/lab (an hour)
	@$(RUN) xtask lab all --out "$${CARGO_TARGET_DIR:-target}/lab"

lab-papers: ## the four papers over kernels, media and file systems in QEMU (five hours; goes on where it was stopped)
	@$(RUN) xtask lab papers --out "$${CARGO_TARGET_DIR:-target}/lab-papers"

clean: ## remove build output
	@$(BUILD) clean
