# `make check` is what CI runs after the README's test command.
.PHONY: test check contributing bridgestan python book wasm release fuzz faer jit nalgebra-sparse files adapters firmware web web-check pjrt stablehlo-tests jax-times xla xla-sharded xla-speed check-all miri tsan asan bless pictures doc bench laws anchors gradbench side-by-side perf size browser

# All features but `faer`, which compiles for minutes, and `nalgebra-sparse`: `make faer` and `make nalgebra-sparse` test them.
FEATURES = approx,argmin,jit,nalgebra,native,ndarray,pjrt,rand,safetensors,serde,verified
PACKAGES = -p polygrad -p polygrad-higher -p polygrad-derive -p polygrad-math -p polygrad-capi

test:
	cargo test

# What uses one core comes first: the last command uses all.
check:
	cargo fmt --all --check
	cargo check -p polygrad -p polygrad-higher -p polygrad-capi --lib --no-default-features
	RUSTDOCFLAGS="-D warnings" cargo doc $(PACKAGES) --no-deps --features $(FEATURES)
	cargo clippy -p polygrad-math --all-targets -- -D warnings
	cargo clippy --workspace --exclude polygrad-files --exclude polygrad-solvers --all-targets --features $(FEATURES) -- -D warnings

# The pages for contributors, tried: their patches on a copy of the sources, compiled, and used by a program.
contributing:
	@.ci/contributing

# The library for a machine without threads and files. Where the toolchain lacks the target, a sentence says so.
WASM = wasm32-unknown-unknown
wasm:
	@if test -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM)"; then \
		cargo check -p polygrad-math --target $(WASM) && \
		cargo check -p polygrad -p polygrad-higher --lib --target $(WASM) && \
		cargo check -p polygrad -p polygrad-higher --lib --target $(WASM) --no-default-features; \
	else \
		echo 'wasm: nothing was checked, since the toolchain has no target $(WASM); rustup target add $(WASM)'; \
	fi

# Makes the crates ready to be published, and tests the packages alone: make release REPOSITORY=https://..
REPOSITORY =
release:
	@.ci/release '$(REPOSITORY)' '$(FEATURES)'

# Native code by Cranelift, and programs that run on it.
jit:
	cargo clippy -p polygrad --features $(FEATURES) --lib -- -D warnings
	cargo test -p polygrad-tests --features jit --test jit --test random --test derivatives

faer:
	cargo clippy --features $(FEATURES),faer --lib --test faer -- -D warnings
	cargo test --features faer --test faer
	cargo test --features faer --doc foreign

nalgebra-sparse:
	cargo clippy --features nalgebra-sparse --lib --test nalgebra_sparse -- -D warnings
	cargo test --features nalgebra-sparse --test nalgebra_sparse
	cargo test --features nalgebra-sparse --doc sparse::foreign

# The example with csv and npy files, a crate of its own.
files:
	cargo clippy -p polygrad-files --all-targets -- -D warnings
	cargo test -p polygrad-files

# The examples with samplers and solvers of other crates, a crate of their own.
adapters:
	cargo clippy -p polygrad-solvers --no-deps --all-targets -- -D warnings
	cargo test -p polygrad-solvers

# The example with a build script that writes source code, a crate outside of the workspace: on this machine, in C, and, where there
# are the target and node, as WebAssembly, whose bits are compared.
FIRMWARE = examples/firmware
FIRMWARE_BUILD = --manifest-path $(FIRMWARE)/Cargo.toml --target-dir target/firmware
firmware:
	cargo fmt --manifest-path $(FIRMWARE)/Cargo.toml --check
	cargo clippy $(FIRMWARE_BUILD) --all-targets -- -D warnings
	cargo test $(FIRMWARE_BUILD)
	cargo test $(FIRMWARE_BUILD) --features double
	CARGO_TARGET_DIR=target/firmware $(FIRMWARE)/sizes 2 3
	@if test -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM)" && node --version > /dev/null 2>&1; then \
		cargo run $(FIRMWARE_BUILD) --example simulate target/firmware/flight.log && \
		cargo rustc $(FIRMWARE_BUILD) --release --lib --crate-type cdylib --target $(WASM) && \
		node $(FIRMWARE)/run.mjs target/firmware/$(WASM)/release/polygrad_firmware.wasm target/firmware/flight.log; \
	else \
		echo 'firmware: nothing ran as WebAssembly, since there is no node or no target $(WASM)'; \
	fi

# The book as a site, target/book, with every link followed: make book [REPOSITORY=https://..], whose files links lead to.
BOOK = --manifest-path docs/book/site/Cargo.toml --target-dir target/book-site
book:
	cargo fmt --manifest-path docs/book/site/Cargo.toml --check
	cargo clippy $(BOOK) -- -D warnings
	cargo run --release $(BOOK) -- '$(REPOSITORY)'

# The example for the browser, a crate outside of the workspace: its tests, and, where there is the target, the page as one file,
# target/web/index.html. The build takes minutes. A compiler with another name has the target by WEB_CARGO: examples/web/README.md.
WEB = examples/web
WEB_BUILD = --manifest-path $(WEB)/Cargo.toml --target-dir target/web
WEB_MODULE = target/web/$(WASM)/release/polygrad_web.wasm
WEB_CARGO = cargo
WEB_FLAGS =
web:
	cargo fmt --manifest-path $(WEB)/Cargo.toml --check
	cargo clippy $(WEB_BUILD) --all-targets -- -D warnings
	cargo test $(WEB_BUILD)
	@if test '$(WEB_CARGO)' != cargo || test -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM)"; then \
		$(WEB_CARGO) build $(WEB_BUILD) --release --target $(WASM) $(WEB_FLAGS) && \
		$(WEB)/bundle $(WEB_MODULE) target/web/index.html; \
	else \
		echo 'web: no page was built, since the toolchain has no target $(WASM); rustup target add $(WASM)'; \
	fi

# The page of `make web` in a browser without a window: synthetic hands drag, kick and search. Where there is none, a sentence says so.
web-check:
	@if test -f $(WEB_MODULE); then $(WEB)/check $(WEB_MODULE) target/web; \
	else echo 'web-check: nothing was checked, since there is no page; make web builds it'; fi

# Programs on a PJRT plugin: make pjrt PLUGIN=/path/of/plugin.so [DEVICES=4]. Where to get one: docs/export.md. With POLYGRAD_EXPORT_DIR the
# cases that `make xla` has written to that folder (target/export) run there, too.
PLUGIN ?= $(POLYGRAD_PJRT_PLUGIN)
DEVICES = 1
pjrt:
	@test -f '$(PLUGIN)' || { echo 'name the library of a plugin: make pjrt PLUGIN=/path/of/plugin.so'; exit 1; }
	POLYGRAD_PJRT_PLUGIN="$$(realpath '$(PLUGIN)')" cargo test --test pjrt
	cargo run --example export $(XLA_DIGITS) --pjrt '$(PLUGIN)' $(DEVICES)

# Environments of Python: what a list of requirements in python/ names, in pinned versions; pip finds them as it is configured.
target/%-env/installed: python/%-requirements.txt
	python3 -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet -r $<
	touch $@

# Exported programs run by XLA.
XLA_ENV = target/xla-env
XLA_PYTHON = $(XLA_ENV)/bin/python
XLA_CASES = $(CURDIR)/target/export
XLA_DIGITS = target/export-digits

# The tests of the loader, and the exported cases of the tests of Rust: the gallery, linear algebra, random programs.
xla: $(XLA_ENV)/installed
	rm -rf $(XLA_CASES)
	POLYGRAD_EXPORT_DIR=$(XLA_CASES) cargo test --test programs export
	POLYGRAD_EXPORT_DIR=$(XLA_CASES) cargo test --test random tame::
	POLYGRAD_EXPORT_DIR=$(XLA_CASES) $(XLA_PYTHON) python/test_polygrad_xla.py

# The test programs of StableHLO, imported: make stablehlo-tests FOLDER=.., the folder stablehlo/testdata of its repository.
stablehlo-tests:
	@test -d '$(FOLDER)' || { echo 'name a copy of stablehlo/testdata: make stablehlo-tests FOLDER=..'; exit 1; }
	STABLEHLO_TESTS="$$(realpath '$(FOLDER)')" cargo test --test import suite -- --nocapture

# The six programs of the example from_jax in turns with JAX: ratios, for a machine that does nothing else.
jax-times: $(XLA_ENV)/installed
	cargo build --release -p polygrad-export --features jit --example from_jax
	$(XLA_PYTHON) python/from_jax.py race target/release/examples/from_jax times

# Three densities as shared libraries for BridgeStan: its client of Python, and the sampler nutpie, whose draws are compared with
# quadrature. Its crate loads one, too, from a crate outside of the workspace: bindgen, which that needs, finds libclang in the same
# environment, and the headers of its compiler in that of C.
BRIDGESTAN_ENV = target/bridgestan-env
BRIDGESTAN_BUILD = --manifest-path examples/bridgestan/Cargo.toml --target-dir target/bridgestan
LIBCLANG = $$($(BRIDGESTAN_ENV)/bin/python -c 'import clang; print(clang.__path__[0] + "/native")')
bridgestan: $(BRIDGESTAN_ENV)/installed
	cargo build --release -p polygrad-capi --features jit --lib --examples
	$(BRIDGESTAN_ENV)/bin/python python/check_bridgestan.py $${CARGO_TARGET_DIR:-target}/release/examples
	cargo fmt --manifest-path examples/bridgestan/Cargo.toml --check
	LIBCLANG_PATH="$${LIBCLANG_PATH:-$(LIBCLANG)}" BINDGEN_EXTRA_CLANG_ARGS="-I$$(cc -print-file-name=include)" \
		cargo run $(BRIDGESTAN_BUILD) -- $${CARGO_TARGET_DIR:-target}/release/examples/libeight_schools.so

# The package in Python: a wheel is built and installed, its tests run beside JAX, and so does the notebook. Times beside
# JAX: python/compare_polygrad.py in the same environment.
PYTHON_ENV = target/polygrad-env
PYTHON = $(PYTHON_ENV)/bin/python
python: $(PYTHON_ENV)/installed
	$(PYTHON) -m pip install --quiet --no-deps --force-reinstall .
	$(PYTHON) -m pytest -q -p no:cacheprovider python/tests

# A network trained by an exported step: on one device, on 8 with the batch shared, on 8 in two processes, and on the 8 of the mesh
# that the step was exported with. Value and gradient of a batch in parts are one collective operation.
xla-sharded: $(XLA_ENV)/installed
	cargo run --example export $(XLA_DIGITS)
	$(XLA_PYTHON) python/train_digits.py $(XLA_DIGITS) --all-reduces 0
	$(XLA_PYTHON) python/train_digits.py $(XLA_DIGITS) --devices 8 --all-reduces 1
	$(XLA_PYTHON) python/train_digits.py $(XLA_DIGITS) --devices 8 --processes 2 --all-reduces 1
	$(XLA_PYTHON) python/train_digits.py $(XLA_DIGITS) --devices 8 --sharded --all-reduces 1

# Exported gradients beside the same gradients in JAX, on one thread: ratios, for a machine that does nothing else.
xla-speed: $(XLA_ENV)/installed
	cargo run --example export target/export-models --models
	XLA_FLAGS=--xla_cpu_multi_thread_eigen=false $(XLA_PYTHON) python/compare_jax.py target/export-models

check-all: check faer jit nalgebra-sparse files adapters firmware web web-check

# Small compiled programs, on one thread and on several, in an interpreter that sees every access. Where the toolchain lacks
# it, a sentence says so. The queues of rayon need the model of borrows by trees; its threads outlive the tests.
miri:
	@if cargo +nightly miri --version > /dev/null 2>&1; then \
		MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks' \
			cargo +nightly miri test --lib -- backend::tests backend::memory; \
	else \
		echo 'miri: nothing was run, since there is no nightly toolchain with Miri; rustup +nightly component add miri rust-src'; \
	fi

# The same programs, and the sharing of work, with every access of every thread watched. Where there is no nightly toolchain,
# or no sanitizer for the machine, a sentence says so. The standard library is not watched: what it synchronizes is listed.
TSAN_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
TSAN_LIBRARY = $(shell rustc +nightly --print target-libdir 2> /dev/null)/librustc-nightly_rt.tsan.a
tsan:
	@if test -f '$(TSAN_LIBRARY)'; then \
		RUSTFLAGS='-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer' \
		TSAN_OPTIONS='allocator_may_return_null=1 suppressions=$(CURDIR)/tests/data/tsan.txt' \
			cargo +nightly test --target $(TSAN_HOST) --target-dir target/tsan --lib -- \
				--test-threads 1 backend::tests backend::memory kernels::threads kernels::contract::partition; \
	else \
		echo 'tsan: nothing was run, since there is no nightly toolchain with a thread sanitizer for this machine'; \
	fi

# All unit tests of the library with the bounds of every access checked. The compiler takes some ten minutes. Leaks are left out:
# memories of runs are kept. Where there is no nightly toolchain, or no sanitizer for the machine, a sentence says so.
ASAN_LIBRARY = $(shell rustc +nightly --print target-libdir 2> /dev/null)/librustc-nightly_rt.asan.a
asan:
	@if test -f '$(ASAN_LIBRARY)'; then \
		RUSTFLAGS='-Zsanitizer=address' ASAN_OPTIONS='detect_leaks=0 allocator_may_return_null=1' \
		CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 \
			cargo +nightly test -p polygrad --target $(TSAN_HOST) --target-dir target/asan --lib; \
	else \
		echo 'asan: nothing was run, since there is no nightly toolchain with an address sanitizer for this machine'; \
	fi

# Random programs in many numbers, optimized and with assertions: make fuzz N=1000000 [SEED=first] [JOBS=processes] [KIND=small]. A
# summary says how many of which kind there were, and which seeds failed; without SEED they are new ones.
N = 10000
SEED = $(shell date +%s)000000
JOBS = $(shell getconf _NPROCESSORS_ONLN)
KIND =
FUZZ_BUILD = CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
fuzz:
	$(FUZZ_BUILD) POLYGRAD_FUZZ=$(N) POLYGRAD_SEED=$(SEED) POLYGRAD_JOBS=$(JOBS) POLYGRAD_KIND=$(KIND) \
		cargo test --target-dir target/fuzz --test random -- --ignored --exact fuzz::many_programs_agree --nocapture

# Writes what tests compare with anew: messages, printed programs, tables, outputs. Read the difference.
bless:
	UPDATE_EXPECT=1 cargo test --test errors
	UPDATE_EXPECT=1 cargo test -p polygrad-book
	UPDATE_EXPECT=1 cargo test --test language --test programs -- architecture kept operations verbs examples pictures task_pictures printing recognized

# Draws the pictures that take too long for a test. Their pages show what is printed.
SLOW_PICTURES = arm character convolutional deconvolution flow greeks molecules quantum registration topology vae
pictures:
	for name in $(SLOW_PICTURES); do cargo run --release --example $$name target/pictures || exit 1; done
	cp $(patsubst %,target/pictures/%.svg,$(SLOW_PICTURES)) docs/pictures/

doc:
	cargo doc -p polygrad -p polygrad-higher --no-deps --features $(FEATURES) --open

bench:
	cargo bench --bench questions --bench gallery

# Laws over pairs of programs, by counts of instructions, where valgrind is installed: the whole costs at most its parts, a batch
# at most its members, a longer axis at most half more. make laws [LAWS='part of a name']
LAWS =
laws:
	cargo bench --bench laws -- $(LAWS)

# Compares the results of all workloads of the example `anchors` with the recorded ones.
anchors:
	cargo build --release --example anchors
	@for name in $$(target/release/examples/anchors --list); do target/release/examples/anchors --check $$name || exit 1; done

# Times the twelve problems of GradBench in its sizes, on THREADS threads: make gradbench [PROBLEMS=det,lse] [THREADS=1]
PROBLEMS = hello,llsq,lse,det,ode,kmeans,gmm,lstm,ba,ht,particle,saddle
gradbench:
	cargo build --release --example gradbench
	python3 python/gradbench.py --only $(PROBLEMS) target/release/examples/gradbench --threads $(THREADS)

# Measures workloads next to other programs in one run, and prints ratios:
#     make side-by-side ANCHORS=DIR PY=PYTHON [ONLY=REGEX] [PEERS=jax,torch] [THREADS=1] [INTERPRET=1]
# DIR has run_all.py, which measures the other programs; PYTHON has them installed. PEERS=none measures this library alone,
# INTERPRET=1 measures interpreted programs, too.
ONLY = .
PEERS = jax,jax_remat,torch
THREADS = 1
PY = python3
RUNNER = $(CURDIR)/target/release/examples/anchors
SIDE = target/side-by-side.jsonl
side-by-side:
	cargo build --release --example anchors
	rm -f $(SIDE)
	$(PY) $(ANCHORS)/run_all.py --out $(SIDE) --only '$(ONLY)' --peers '$(PEERS)' --threads $(THREADS) \
		--extra 'polygrad=$(RUNNER) {workload} {threads}' \
		$(if $(INTERPRET),--extra 'polygrad_interpret=$(RUNNER) {workload} {threads} --interpret')
	@$(RUNNER) --table $(SIDE)

# Compares counts of some workloads, of work and, where valgrind is installed, of instructions, with the recorded ones. No test:
# read the ratios. `UPDATE_EXPECT=1 make perf` records them anew.
perf:
	cargo build --release --example anchors
	@$(RUNNER) --perf

# Pages that the library writes, and that of `make web`, looked at in headless Chromium. Where there is none, a sentence says so.
browser: web-check
	@.ci/browser

size:
	@wc -l $$(git ls-files '*.rs') | sort -n | tail -40
