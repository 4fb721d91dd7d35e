# `make check` is what CI runs after the README's test command.
.PHONY: test check bless doc bench size

test:
	cargo test --release

check:
	cargo fmt --check
	cargo clippy --release --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --all-features

# Writes the record of all messages anew; read the difference.
bless:
	UPDATE_EXPECT=1 cargo test --release --test errors

doc:
	cargo doc --no-deps --all-features --open

bench:
	cargo bench

size:
	@wc -l $$(git ls-files '*.rs') | sort -n | tail -40
