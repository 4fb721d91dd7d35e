//! Measured constants: times, cache sizes, and the sizes at which one implementation becomes faster than another.
//!
//! Law: a number that follows from a measured time, or from the size of a cache, is defined here, once, with its unit
//! and a command: a `measured` command prints the number, or the times from which it follows; a `seen` command runs
//! programs for which the number decides. Times are nanoseconds on one thread. Two rows about one quantity say how they
//! differ.
//!
//! | command | what it runs |
//! |---|---|
//! | `questions "title"` | `cargo bench --bench questions "title"` |
//! | `gallery "name"` | `cargo bench --bench gallery -- "name"` |
//! | `anchors "name"` | `cargo run --release --example anchors "name" 1`, and with `--explain` the time of each step |
//! | `threads "name"` | `cargo run --release --example anchors "name" 2`, to be compared with the same on one thread |
//!
//! The constants rank implementations of the same operation; they do not predict times. They were measured on
//! processors with AVX-512.

/// Makes the struct, its one value, and the list of commands from the rows.
macro_rules! machine {
    ($( $(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr, $how:ident $bench:ident $title:literal; )*) => {
        /// The measured constants.
        #[derive(Clone, Copy, Debug)]
        #[cfg_attr(not(feature = "jit"), allow(dead_code, reason = "the selection of native code alone reads some"))]
        pub(crate) struct Machine {
            $( $(#[doc = $doc])*
            #[doc = concat!("\n\n", stringify!($how), ": `", stringify!($bench), " ", stringify!($title), "`")]
            pub(crate) $name: $type, )*
        }

        /// The machine that plans are made for.
        pub(crate) const MACHINE: &Machine = &Machine { $( $name: $value, )* };

        /// For each row: its name, `measured` or `seen`, and the two words of the command.
        #[cfg(test)]
        const COMMANDS: &[(&str, &str, &str, &str)] =
            &[$( (stringify!($name), stringify!($how), stringify!($bench), $title), )*];
    };
}

machine! {
    // Memory.

    /// Bytes of the first level of cache, in which the values of a tile stay.
    level1: usize = 32 << 10, seen anchors "C1.chain.1e6";
    /// Bytes of a value that stays in the second level of cache with the others of an operation or of a block of
    /// rows.
    level2_beside: usize = 512 << 10, seen anchors "C7.heat.256x100";
    /// Bytes of a stack that stays in the second level of cache until the next loop reads it.
    level2_stack: usize = 1 << 20, seen anchors "C9.recur_vec128.T1e3";
    /// Least bytes of a state of a while loop for which reverse mode keeps few slots.
    large_state: usize = 1 << 16, seen questions "conditionals";
    /// Nanoseconds to write or read a byte of a stack of at most `level2_stack` bytes.
    near_byte: f64 = 0.03, seen anchors "C9.recur_vec128.T1e3";
    /// Nanoseconds to write or read a byte of a larger stack.
    far_byte: f64 = 0.1, seen anchors "C7.heat.256x100";
    /// Nanoseconds per 8 bytes of the operands and results of an operation, if these have at least `level2_beside`
    /// bytes, in the estimate of a program: added to the time of the elements, unlike `far_byte`.
    far_number: f64 = 0.2, measured questions "views of a million";
    /// Bytes that a block of rows touches, unless a single row touches more.
    block: usize = 128 << 10, seen anchors "C5.softmax_xent.1024x1000";
    /// Least bytes of memory traffic that blocks of rows must save: less stays in cache anyway.
    block_spares: usize = 128 << 10, seen anchors "C5.softmax_xent.1024x1000";

    // The estimate of a compiled program: averages over fused operations.

    /// Nanoseconds of an operation on scalars, in registers.
    number: f64 = 1.7, measured questions "loops of numbers";
    /// Nanoseconds of a transcendental function of scalars.
    number_function: f64 = 10.0, measured anchors "C9.recur_scalar.T1e4";
    /// Nanoseconds of overhead of an operation on arrays, in addition to the time of its elements.
    call: f64 = 10.0, measured anchors "C9.recur_vec128.T1e3";
    /// Nanoseconds of overhead of a contraction, in addition to the time of its products.
    contraction: f64 = 80.0, measured questions "products with a matrix";
    /// Nanoseconds per element of an operation on elements in their order, except a transcendental function.
    element: f64 = 0.1, measured questions "elementwise";
    /// Nanoseconds per element of a transcendental function.
    element_function: f64 = 0.6, measured questions "elementwise";
    /// Nanoseconds of a product of a contraction, with its sum.
    product: f64 = 0.05, measured questions "matrix products";
    /// Nanoseconds per element that is moved alone, since neighbours do not stay neighbours.
    moved: f64 = 0.5, measured questions "views of a million";

    // A step of a plan on one thread: each operation alone, in tiles, for elements of 8 bytes.

    /// Nanoseconds per element of a contiguous read, or of the broadcast of one element.
    tile_read: f64 = 0.1, measured anchors "C2.dot.1e6";
    /// Nanoseconds per element of a mostly contiguous view, which is read in place.
    tile_view: f64 = 0.05, measured anchors "C3.revdot.1e6";
    /// Nanoseconds per element of arithmetic, in a trip of a loop and elsewhere.
    arithmetic: f64 = 0.25, measured anchors "C1.chain.1e6";
    /// Nanoseconds per element of a quotient.
    division: f64 = 0.8, seen anchors "C8.logsumexp.1e6";
    /// Nanoseconds per element of any other function of one argument.
    tile_function: f64 = 2.5, measured questions "elementwise";
    /// Nanoseconds per element of any other function of two arguments.
    tile_function_of_two: f64 = 8.0, seen gallery "powers";
    /// Nanoseconds per element of a comparison, of a function of one integer, of logic on masks, or of a sum.
    compared: f64 = 0.2, seen anchors "C5.softmax_xent.1024x1000";
    /// Nanoseconds per element of a selection, or of integer arithmetic.
    chosen: f64 = 0.3, seen anchors "C5.softmax_xent.1024x1000";
    /// Nanoseconds per element of a conversion of type, of a step function, or of an iota.
    converted: f64 = 0.5, seen gallery "single_precision";
    /// Nanoseconds per element of a gather within a tile.
    tile_gather: f64 = 2.5, measured questions "gathers";
    /// Nanoseconds per element of a gather or view in a separate kernel.
    gather: f64 = 2.0, measured questions "gathers";
    /// Nanoseconds per subarray that is added at an index, in addition to the time of its bytes.
    scattered: f64 = 0.5, measured questions "scatters";
    /// Nanoseconds per byte of a subarray that is added at an index.
    scattered_byte: f64 = 0.04, measured questions "scatters";
    /// Nanoseconds per comparison of two elements in sorting or selection.
    sorted: f64 = 1.0, measured questions "sorting and selection";
    /// Nanoseconds of an arithmetic operation of a Fourier transform; a line of `n` numbers takes `5 n log n` of them.
    transformed: f64 = 0.06, measured questions "Fourier transforms";
    /// Least number of lines whose elements are neighbours that are transformed together.
    transformed_lines: usize = 8, seen questions "Fourier transforms";
    /// Greatest length of lines that are moved to and from a transform position by position, not line by line.
    short_line: usize = 32, measured questions "Fourier transforms";
    /// Nanoseconds per element that a kernel for extrema reads.
    extremum: f64 = 0.5, measured anchors "C5.softmax_xent.1024x1000";
    /// Nanoseconds per element of a running sum.
    scanned: f64 = 0.4, measured questions "running sums";
    /// Nanoseconds per element that a kernel for positions of extrema, or for transpositions, reads.
    position: f64 = 1.0, measured questions "views of a million";
    /// Nanoseconds per product in a kernel for large matrices.
    tiled_product: f64 = 0.04, measured questions "matrix products";
    /// Nanoseconds per product in tiles of registers, for matrices with short axes.
    short_product: f64 = 0.2, measured questions "small products";
    /// Nanoseconds per product in loops over runs.
    looped_product: f64 = 0.3, measured questions "products with a matrix";
    /// Nanoseconds per product in a factorization of a small matrix.
    factor_product: f64 = 0.3, measured questions "small matrices";

    // The start of an operation.

    /// Nanoseconds to start an operation on an array in a trip of a loop that recomputes a value instead of reading it.
    trip_call: f64 = 20.0, measured anchors "C9.recur_vec128.T1e3";
    /// Nanoseconds of work that make up for one more start of an operation, in another part of a loop on another
    /// thread.
    tile_call: f64 = 80.0, seen threads "C9.recur_vec128.T1e3";
    /// Bytes that are moved in the time of the start of an operation, in the decision on index-set splitting.
    call_bytes: usize = 64, seen gallery "heat_equation";
    /// Least bytes of a row that is computed in a loop instead of being read from a stack.
    sunk_row: usize = 1024, seen anchors "C9.recur_vec128.T1e3";
    /// Elements of a value of a trip that make the overhead of the trip negligible.
    large_trip: usize = 1 << 17, seen anchors "B.rnn.b64.f64";
    /// Nanoseconds of an operation on numbers in native code.
    native_number: f64 = 0.35, seen questions "loops of numbers";
    /// Nanoseconds of a function that native code calls.
    native_function: f64 = 6.0, seen questions "loops of numbers";
    /// Nanoseconds of a trip of a loop in native code.
    native_trip: f64 = 0.5, seen questions "loops of numbers";
    /// Most operations of a function of native code: longer ones take too long to compile.
    native_weight: usize = 20_000, seen questions "first calls";
    /// Most positions of a group of native code: longer ones gain more from vectors.
    native_group: usize = 256, seen questions "loops of numbers";
    /// Most rows, and most columns, of a matrix whose factorization is native code.
    native_matrix: usize = 8, seen questions "small matrices";
    /// Most operations of the iterations of a loop that native code has side by side.
    native_jammed: usize = 160, seen questions "loops of numbers";
    /// Most operations of a loop that native code has written out.
    native_unrolled: usize = 48, seen questions "loops of numbers";
    /// Elements whose interpretation takes as long as the compilation of one operation.
    compiled_operation: u64 = 1000, measured questions "first calls";
    /// Elements whose interpretation takes as long as the overhead of one interpreted operation.
    interpreted_call: u64 = 50, measured questions "arrays of";
    /// Least nanoseconds of a branch that runs only if it is chosen.
    branch: f64 = 2000.0, seen questions "conditionals";
    /// Least nanoseconds of a trip that runs only if its loop has not ended.
    trip_branch: f64 = 500.0, seen questions "conditionals";
    /// Nanoseconds of trips of a while loop that are transposed together.
    trips_at_once: f64 = 2000.0, seen questions "conditionals";
    /// Least nanoseconds of a derivative that runs once for which the programs of several modes are compared.
    comparison: f64 = 1e6, seen questions "first calls";

    // Threads.

    /// Nanoseconds of work that are worth the start of another thread, which takes tens of microseconds.
    thread: f64 = 150e3, seen threads "C2.dot.1e6";
    /// Nanoseconds of work that make up for a byte of the partial sum of a part.
    sum_byte: f64 = 5.0, seen threads "A.gmm.d10k25n1000";
    /// Least products per element of the result in a part of a sum.
    sum_products: usize = 256, seen threads "C2.dot.1e6";
    /// Bytes of a destination whose elements at random indices are not in the caches.
    scattered_far: usize = 16 << 20, measured questions "scatters";
    /// Bytes of a cache line.
    line: usize = 64, seen questions "scatters";
    /// Nanoseconds per cache line of such a destination that is added to at a random index.
    scattered_line: f64 = 7.0, measured questions "scatters";
    /// Nanoseconds for which a thread adds alone before it looks again whether others have come.
    scattered_turn: f64 = 20e3, seen questions "scatters";
    /// Least bytes of a subarray, a page, so that a jump to another one that is read costs little in comparison.
    scattered_page: usize = 4096, measured questions "scatters";
    /// Elements of a part of a line, if threads share the extremum of the line.
    line_part: usize = 1 << 18, seen threads "C8.logsumexp.1e6";

    // Lengths in tile code.

    /// Positions of the longest tiles, whose values stay in the first level of cache; parts of long groups are
    /// multiples.
    tile: usize = 1024, seen anchors "C1.chain.1e6";
    /// Least length of a row that has its own tiles.
    tile_row: usize = 192, seen anchors "C7.heat.256x100";
    /// Least length of a row of an outer product that is computed elementwise.
    outer_row: usize = 9, seen questions "outer products";
    /// The same, for a batch of outer products.
    batch_outer_row: usize = 32, seen questions "outer products";
    /// Longest rows that are read or accumulated as grids: longer rows are runs that are worth a call each.
    grid_row: usize = 64, seen questions "convolutions";
    /// Least positions of a group whose halo is computed apart.
    halo_group: usize = 4096, seen anchors "C7.heat.256x100";
    /// Least length of a row per position of its halo, if the halo is computed apart.
    halo_row: usize = 16, seen anchors "C7.heat.256x100";
    /// Least elements of a value for loop interchange.
    interchange: usize = 2048, seen questions "ways to write";
    /// Least length of each of two axes that are interchanged.
    interchange_axis: usize = 8, seen questions "ways to write";

    // Scalar replacement in loops over small arrays. Trips of `tanh (w c + x)` of 4, 8 and 16 elements took 190, 180
    // and 560 ns with arrays, and 50, 120 and 340 ns with scalars; trips of the gradient of ten sums and products took
    // 210, 250 and 370 ns, and 95, 150 and 270 ns. From 24 elements on, these sums and products are faster with arrays.

    /// Most elements of an array that is replaced by scalars.
    numbers: usize = 16, seen anchors "E1.lorenz.1000";
    /// Most elements of an array whose transcendental function is replaced by scalar functions: compared with these, the
    /// overhead that is saved counts less.
    numbers_function: usize = 12, seen anchors "C9.recur_scalar.T1e4";
    /// Most elements of an array whose type is not `f64` that is replaced by scalars: scalar instructions on such
    /// types take as long as a step over an array.
    numbers_narrow: usize = 1, seen gallery "single_precision_loop";
    /// Most positions of a view or a contraction that is replaced by scalar operations: a trip with a product of 4 by 4
    /// matrices took 700 ns, with scalars 75 ns; a trip with 8 by 8 matrices took as long either way, and its gradient
    /// twice as long with scalars.
    numbers_positions: usize = 256, seen gallery "crossed_in_a_map";
    /// Most scalar operations of a body: longer code does not stay in the caches of the processor.
    numbers_operations: usize = 2000, seen anchors "E3.horner.1000";

    /// Most elements, on average, of the arrays of a program without loops that is rewritten with scalars.
    small_elements: usize = 64, measured questions "programs of small arrays";
    /// Nanoseconds of a step over small arrays in such a program, or of a view that is copied, in addition to those of
    /// a fused operation.
    small_operation: f64 = 30.0, measured questions "programs of small arrays";
    /// Most elements of one array of such a program.
    program_numbers: usize = 256, measured questions "programs of small arrays";
    /// Most positions of one of its views or contractions.
    program_positions: usize = 1024, measured questions "programs of small arrays";
    /// Most scalar operations of such a program.
    program_operations: usize = 4000, measured questions "programs of small arrays";

    // Kernels.

    /// Least elements for which loops compiled for the instruction set of the machine are called.
    isa_run: usize = 32, measured questions "arrays of";
    /// Least elements of a matrix for which a product with a vector is a separate call.
    gemv: usize = 32, measured questions "products with a vector";
    /// Longest rows that are summed in registers, not in the result.
    gemv_row: usize = 64, measured questions "products with a vector";
    /// Elements of a long result that stay in the first level of cache while rows are added.
    gemv_part: usize = 1024, seen questions "products with a vector";
    /// Rows of few elements from which on four sums in turn are faster than one, in which each sum waits for the last.
    turns: usize = 512, measured questions "products with a vector";
    /// Length below which the overhead of a run exceeds the time of its elements.
    short_run: usize = 16, seen anchors "A.gmm.d10k25n1000";
    /// Least products of a matrix product whose operands are worth packing.
    packed: usize = 512, measured questions "matrix products";
    /// Lines of a factor that lies transposed that are copied at once, and least lines of such a factor.
    transposed_lines: usize = 64, measured questions "layers";
    /// Least length of these lines: shorter ones are packed as fast by the crates.
    transposed_depth: usize = 128, measured questions "layers";
    /// Elements of the operand that the rows of a product share, up to which tiles that read it in place are faster
    /// than packed operands.
    shared_panel: usize = 4096, measured questions "small products";
    /// Most rows, or columns, of a matrix whose eigenvalues or singular values are computed by Jacobi rotations: they
    /// are exact for each magnitude, and take up to twice the time of reflections.
    rotated: usize = 10, seen questions "one matrix";
    /// Rows from which on eigenvalues are computed by faer, where it is there.
    large_spectrum: usize = 60, seen questions "one matrix";
    /// Products of an update of a factorisation from which on packing its factors pays.
    packed_update: usize = 200_000, measured questions "one matrix";
    /// Elements of the lanes of tiles that stay in the first level while all rows are multiplied by them.
    small_panel: usize = 2048, seen questions "small products";
    /// Products of a matrix product from which on a batch of plain products is as fast as one implicit GEMM.
    plain: usize = 16384, seen questions "convolutions";
    /// Steps of the sum of a packed product that are packed at once: the packed rows of a tile stay in the first level
    /// of cache.
    packed_steps: usize = 256, seen questions "convolutions";
    /// Panels of columns that are packed at once: the packed columns stay in the second level of cache.
    packed_panels: usize = 42, seen questions "convolutions";
    /// Columns of an implicit GEMM from which on it is faster than tiles whose lanes are not contiguous.
    packed_columns: usize = 12, seen questions "convolutions";
    /// Length of contiguous runs from which on loops over runs add windows as fast as tiles.
    window_run: usize = 256, seen questions "convolutions";
    /// Products of a convolution of stride 2 or more that are worth a kernel call of their own.
    phase: usize = 4096, seen questions "convolutions";
    /// Nanoseconds of adding one sum of products to a result in which windows overlap.
    window_sum: f64 = 1.0, seen questions "convolutions";
    /// Least length of a run along which tiles of inner products are summed.
    summed_run: usize = 16, seen questions "convolutions";
    /// Least steps of the sum of such tiles.
    summed: usize = 256, seen questions "convolutions";
    /// Most rows, or columns, of a product that is computed by such tiles: for more, packing takes less time.
    summed_rows: usize = 16, measured questions "products with a matrix";
    /// Steps of a part of such a sum, whose lines stay in the first level of cache; a multiple of all numbers of lanes.
    summed_steps: usize = 1024, seen questions "convolutions";
    /// Columns of long rows whose extrema are found together: they stay in the first level of cache.
    extremum_columns: usize = 512, seen questions "elementwise";
    /// Steps along the result of a tile in which matrices are transposed: one or two cache lines.
    transposed_tile: usize = 16, seen questions "views of a million";
    /// Steps along the result of a block of such tiles, whose part of the source stays in cache.
    transposed_block: usize = 256, seen questions "views of a million";
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{COMMANDS, MACHINE};

    /// The concatenated texts of the Rust files of a folder.
    fn texts(folder: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let files = paths.filter(|path| path.extension().is_some_and(|e| e == "rs"));
        files.map(|path| fs::read_to_string(path).expect("the file can be read")).collect()
    }

    /// Every command exists: there is a question with the title, or an objective or a workload with the name.
    #[test]
    fn commands_exist() {
        let (questions, gallery, anchors) =
            (texts("benches/questions"), texts("tests/gallery"), texts("examples/anchors"));
        for (name, how, bench, title) in COMMANDS {
            assert!(["measured", "seen"].contains(how), "{name}: {how}");
            let exists = match *bench {
                "questions" => questions.contains(&format!("\"{title}")),
                "gallery" => gallery.contains(&format!("\n    {title}(")),
                "anchors" | "threads" => anchors.contains(&format!("\"{title}\"")),
                _ => false,
            };
            assert!(exists, "{name}: `{bench} {title}` is not a command");
        }
    }

    /// Farther caches are larger and slower, and functions take longer than products.
    #[test]
    fn constants_are_in_order() {
        let m = MACHINE;
        assert!(m.level1 < m.block && m.block < m.level2_beside && m.level2_beside <= m.level2_stack);
        assert!(m.near_byte < m.far_byte);
        assert!(m.number < m.number_function && m.element < m.moved && m.element < m.element_function);
        assert!(m.arithmetic < m.division && m.division < m.tile_function && m.tile_function < m.tile_function_of_two);
        assert!(m.tiled_product < m.short_product && m.short_product < m.looped_product && m.thread > m.tile_call);
    }
}
