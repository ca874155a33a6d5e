# The few verbs of the project. `make` alone lists them.
#
# LAB_ARGS are options for the lab, such as `make lab LAB_ARGS="sync --fs host,ext4"`; none
# for a normal run of all experiments.

LAB_ARGS ?= --quick
PREFIX ?= /usr/local
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help lab test test-kernels soak check bench install dist test-dist bpf bpf-check

help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

lab: ## Build, and run the lab on this directory; as root also on images it makes
	@scripts/deps lab
	cargo build --release --locked --package iostrata
	$(TARGET_DIR)/release/iostrata lab --dir . $(LAB_ARGS)

test: ## Run every test; as root those of the real kernel too
	@scripts/deps test
	@scripts/bpf check
	@scripts/test

test-kernels: ## Run the tests on other kernels, in virtual machines; as root on a Debian
	@scripts/kernels test

soak: ## Run what is too long for the tests, for MINUTES from SEED on; docs/reliability.md has the table
	@scripts/deps test
	@SEED="$(SEED)" MINUTES="$(MINUTES)" ONLY="$(ONLY)" scripts/soak

check: ## Check format, lints, documentation, dependencies, packages, and the eBPF object
	@scripts/deps check
	@scripts/bpf check
	@scripts/recipes
	@scripts/ratchet
	@scripts/deny
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@scripts/crates
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked

bench: ## Measure what measuring costs, beside plain C, fio, cp and strace
	@scripts/deps bench
	cargo build --release --locked --package iostrata-lab --example workload
	cargo bench --workspace --locked --bench '*'
	cargo build --release --locked --package iostrata
	scripts/crash-programs --budget --iostrata $(TARGET_DIR)/release/iostrata

install: ## Build, and install program, manual pages and completions below PREFIX (/usr/local)
	@scripts/deps lab
	cargo build --release --locked --package iostrata
	scripts/install $(TARGET_DIR)/release/iostrata $(DESTDIR)$(PREFIX)

dist: ## Build what is given to others, in target/dist: static program, tarball, .deb, wheel
	@scripts/deps dist
	scripts/dist

test-dist: ## Install and use each of these on systems without compilers; as root, after `make dist`
	@scripts/deps test-dist
	scripts/test-dist

bpf: ## Compile the eBPF object anew (clang, llvm-strip, libbpf-dev)
	@scripts/bpf build

bpf-check: ## Tell whether the eBPF object was made from bpf/
	@scripts/bpf check
