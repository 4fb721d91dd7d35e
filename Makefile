# `make check` is what CI runs after the README's test command.
.PHONY: test check bless doc bench size

test:
	cargo test

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features

# Writes what tests compare with anew: messages, printed programs, tables, outputs. Read the difference.
bless:
	UPDATE_EXPECT=1 cargo test --test errors
	UPDATE_EXPECT=1 cargo test --test language --test programs -- operations examples printing recognized

doc:
	cargo doc --no-deps --all-features --open

bench:
	cargo bench

size:
	@wc -l $$(git ls-files '*.rs') | sort -n | tail -40
