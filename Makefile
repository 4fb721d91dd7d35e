# `make check` is what CI runs after the README's test command.
.PHONY: test check faer check-all bless doc bench size

# All features but `faer`, which compiles for minutes: `make faer` tests it.
FEATURES = approx,argmin,nalgebra,ndarray,safetensors,serde
PACKAGES = -p polygrad -p polygrad-derive

test:
	cargo test

check:
	cargo fmt --all --check
	cargo clippy $(PACKAGES) --all-targets --features $(FEATURES) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(PACKAGES) --no-deps --features $(FEATURES)

faer:
	cargo clippy --features $(FEATURES),faer --lib --test faer -- -D warnings
	cargo test --features faer --test faer
	cargo test --features faer --doc foreign

check-all: check faer

# Writes what tests compare with anew: messages, printed programs, tables, outputs. Read the difference.
bless:
	UPDATE_EXPECT=1 cargo test --test errors
	UPDATE_EXPECT=1 cargo test --test language --test programs -- operations examples printing recognized

doc:
	cargo doc --no-deps --features $(FEATURES) --open

bench:
	cargo bench

size:
	@wc -l $$(git ls-files '*.rs') | sort -n | tail -40
