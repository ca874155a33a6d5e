# The few verbs of the project. `make` alone lists them.
#
# LAB_ARGS are options for the lab, such as `make lab LAB_ARGS="sync --fs host,ext4"`; none
# for a normal run of all experiments.

LAB_ARGS ?= --quick
PREFIX ?= /usr/local
COMPLETIONS_BASH = $(PREFIX)/share/bash-completion/completions
COMPLETIONS_ZSH = $(PREFIX)/share/zsh/site-functions
COMPLETIONS_FISH = $(PREFIX)/share/fish/vendor_completions.d
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help lab test test-kernels check bench install bpf bpf-check

help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

lab: ## Build, and run the lab on this directory; as root also on images it makes
	@scripts/deps lab
	cargo build --release --locked --package iostrata
	$(TARGET_DIR)/release/iostrata lab --dir . $(LAB_ARGS)

test: ## Run every test; as root those of the real kernel too
	@scripts/deps test
	@scripts/bpf check
	@# Through a pipe: programs that tests trace inherit what tests print to, and would be seen to
	@# write to a file there.
	bash -o pipefail -c 'cargo test --workspace --locked 2>&1 | cat'

test-kernels: ## Run the tests on other kernels, in virtual machines; as root on a Debian
	@scripts/kernels test

check: ## Check format, lints, documentation, and that the eBPF object is up to date
	@scripts/bpf check
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked

bench: ## Measure what measuring costs, beside plain C, fio, cp and strace
	@scripts/deps bench
	cargo build --release --locked --package iostrata-lab --example workload
	cargo bench --workspace --locked --bench '*'

install: ## Build, and install program, manual pages and completions below PREFIX (/usr/local)
	@scripts/deps lab
	cargo build --release --locked --package iostrata
	install -D -m 755 $(TARGET_DIR)/release/iostrata $(DESTDIR)$(PREFIX)/bin/iostrata
	$(TARGET_DIR)/release/iostrata man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(COMPLETIONS_BASH) $(DESTDIR)$(COMPLETIONS_ZSH) $(DESTDIR)$(COMPLETIONS_FISH)
	$(TARGET_DIR)/release/iostrata completions bash > $(DESTDIR)$(COMPLETIONS_BASH)/iostrata
	$(TARGET_DIR)/release/iostrata completions zsh > $(DESTDIR)$(COMPLETIONS_ZSH)/_iostrata
	$(TARGET_DIR)/release/iostrata completions fish > $(DESTDIR)$(COMPLETIONS_FISH)/iostrata.fish

bpf: ## Compile the eBPF object anew (clang, llvm-strip, libbpf-dev)
	@scripts/bpf build

bpf-check: ## Tell whether the eBPF object was made from bpf/
	@scripts/bpf check
