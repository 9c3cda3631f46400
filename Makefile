# Two commands do everything, set-up included, on a fresh Debian 12+ or Ubuntu 22.04+ with cargo:
#   make demo    build crosstie and show what it does, on two virtual machines
#   make test    every test that should pass before a change is merged
# The work is done by small scripts in scripts/; missing packages come from packaging/apt-packages.txt.

# rustup's cargo goes before a distribution's: scripts/cross may install the latter for the other architecture.
export PATH := $(HOME)/.cargo/bin:$(PATH)
export CARGO_TERM_PROGRESS_WHEN ?= never

# `make TARGET INSTALL=:` leaves the machine's packages alone.
export INSTALL ?= scripts/install-packages

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build demo demo-serve check ns lab dist test test-full docs fresh bench advisories fuzz clean

help:
	@awk -F ':.*## ' '/^##@/ { print substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

##@ The two commands

demo: build ## Build crosstie and take two virtual Sparks from cabled to proven; then their cable is cut, named and mended
	$(INSTALL) lab
	scripts/demo

demo-serve: build ## A language model answers over RDMA on two virtual Sparks: llama.cpp is built, started, asked and stopped
	$(INSTALL) lab llama
	scripts/demo-serve

test: ## All tiers: check, ns and lab; ends with a table of tests and times
	$(INSTALL) build ns lab
	scripts/test check ns lab

##@ Tiers of `make test`

check: ## Formatting, lints, licences, layers, types on the other architecture, and every test that needs no root
	$(INSTALL) build
	scripts/test check

ns: ## Tests in real network namespaces (tests/ns/); root, or sudo
	$(INSTALL) build ns
	scripts/test ns

lab: ## Tests on virtual machines with Soft-RoCE (tests/lab/)
	$(INSTALL) build lab
	scripts/test lab

##@ More

setup: ## Install the packages of every tier now
	$(INSTALL) build ns lab full llama dist bench fresh fuzz

build: ## The release binary for this machine
	$(INSTALL) build
	cargo build --release --locked --package crosstie

dist: ## Release binaries in dist/x86_64 and dist/aarch64, GLIBC floor checked
	$(INSTALL) build dist
	scripts/dist

test-full: ## `make test`, then `dist`, `fresh`, `fuzz`, both demos and the long tests; output kept in docs/test-full.txt
	$(INSTALL) build ns lab full
	scripts/test-full

docs: ## Write the pages and schemas that are made from the code
	CROSSTIE_WRITE_PAGES=1 cargo test --quiet --package crosstie --test check check_pages::pages
	CROSSTIE_WRITE_PAGES=1 cargo test --quiet --package crosstie-change --lib whatever_is_cut_off
	for what in $$(cd docs/schema && ls | sed 's/\.json$$//'); do cargo run --quiet --package crosstie -- schema $$what > docs/schema/$$what.json; done

fresh: ## `make check` of the committed tree in a bare Debian chroot; root, or sudo
	$(INSTALL) build fresh
	scripts/fresh

bench: build ## Measure against the usual tools; writes docs/benchmarks.md
	$(INSTALL) bench lab
	scripts/bench

advisories: ## Known faults of dependencies (RUSTSEC); asks over the network, with cargo-deny
	scripts/advisories

fuzz: ## Fuzz every parser, FUZZ_SECONDS (60) each
	$(INSTALL) build fuzz
	scripts/fuzz

clean: ## Remove what was built
	cargo clean
	rm -rf dist fuzz/target
