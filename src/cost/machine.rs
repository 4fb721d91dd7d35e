//! Measured constants: times, cache sizes, and the sizes at which one implementation becomes faster than another.
//!
//! Law: a number that follows from a measured time, or from the size of a cache, stands here, once, with its unit and a
//! command: `measured` is a command that prints the number or times of which it is made, `seen` one that runs what the
//! number decides. Times are nanoseconds on one thread. Two rows about one quantity say what differs between them.
//!
//! | command | what it runs |
//! |---|---|
//! | `questions "title"` | `cargo bench --bench questions "title"` |
//! | `gallery "name"` | `cargo bench --bench gallery -- "name"` |
//! | `anchors "name"` | `cargo run --release --example anchors "name" 1`, and with `--explain` the time of each step |
//! | `threads "name"` | `cargo run --release --example anchors "name" 2` beside the same on one thread |
//!
//! The constants rank implementations of the same operation; none predicts a time. They were measured on processors
//! with AVX-512.

/// Makes the struct, its one value, and the list of commands from the rows.
macro_rules! machine {
    ($( $(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr, $how:ident $bench:ident $title:literal; )*) => {
        /// What was measured.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Machine {
            $( $(#[doc = $doc])*
            #[doc = concat!("\n\n", stringify!($how), ": `", stringify!($bench), " ", stringify!($title), "`")]
            pub(crate) $name: $type, )*
        }

        /// The machine that plans are made for.
        pub(crate) const MACHINE: &Machine = &Machine { $( $name: $value, )* };

        /// For each row its name, how its command is related to it, and the two words of the command.
        #[cfg(test)]
        const COMMANDS: &[(&str, &str, &str, &str)] =
            &[$( (stringify!($name), stringify!($how), stringify!($bench), $title), )*];
    };
}

machine! {
    // Memory.

    /// Bytes of the first level of cache, in which the values of a tile stay.
    level1: usize = 32 << 10, seen anchors "C1.chain.1e6";
    /// Bytes of a value that stays in the second level of cache beside the others of an operation or of a block of
    /// rows.
    level2_beside: usize = 512 << 10, seen anchors "C7.heat.256x100";
    /// Bytes of a stack that stays in the second level of cache until the next loop reads it.
    level2_stack: usize = 1 << 20, seen anchors "C9.recur_vec128.T1e3";
    /// Nanoseconds to write or read a byte of a stack of at most `level2_stack` bytes.
    near_byte: f64 = 0.03, seen anchors "C9.recur_vec128.T1e3";
    /// Nanoseconds to write or read a byte of a larger stack.
    far_byte: f64 = 0.1, seen anchors "C7.heat.256x100";
    /// Nanoseconds for 8 bytes of the operands and results of an operation that have more than `level2_beside` bytes,
    /// in the estimate of a program: beside the time of the elements, unlike `far_byte`.
    far_number: f64 = 0.2, measured questions "views of a million";
    /// Bytes that a block of rows touches.
    block: usize = 128 << 10, seen anchors "C5.softmax_xent.1024x1000";
    /// Least bytes that blocks of rows spare the memory: less stays in cache anyway.
    block_spares: usize = 128 << 10, seen anchors "C5.softmax_xent.1024x1000";

    // A compiled program, as its estimate weighs it: fused operations, on average.

    /// Nanoseconds of an operation on numbers, in registers.
    number: f64 = 1.7, measured questions "loops of numbers";
    /// Nanoseconds of a transcendental function of numbers.
    number_function: f64 = 10.0, measured anchors "C9.recur_scalar.T1e4";
    /// Nanoseconds of an operation on arrays beside its elements.
    call: f64 = 10.0, measured anchors "C9.recur_vec128.T1e3";
    /// Nanoseconds of a contraction beside its products.
    contraction: f64 = 80.0, measured questions "products with a matrix";
    /// Nanoseconds of an element of the result of an operation, whatever the operation.
    element: f64 = 0.1, measured questions "elementwise";
    /// Nanoseconds of an element of a transcendental function.
    element_function: f64 = 0.6, measured questions "elementwise";
    /// Nanoseconds of a product of a contraction, with its sum.
    product: f64 = 0.05, measured questions "matrix products";
    /// Nanoseconds of an element that moves alone, since its neighbours go elsewhere.
    moved: f64 = 0.5, measured questions "views of a million";

    // A step of a plan on one thread: each operation by itself, in tiles, for elements of 8 bytes.

    /// Nanoseconds of an element that is read, or known.
    tile_read: f64 = 0.1, measured anchors "C2.dot.1e6";
    /// Nanoseconds of an element of a view that is read where it lies.
    tile_view: f64 = 0.05, measured anchors "C3.revdot.1e6";
    /// Nanoseconds of an element of arithmetic, also in a trip of a loop.
    arithmetic: f64 = 0.25, measured anchors "C1.chain.1e6";
    /// Nanoseconds of an element of a quotient.
    division: f64 = 0.8, seen anchors "C8.logsumexp.1e6";
    /// Nanoseconds of an element of any other function of one argument.
    tile_function: f64 = 2.5, measured questions "elementwise";
    /// Nanoseconds of an element of any other function of two arguments.
    tile_function_of_two: f64 = 8.0, seen gallery "powers";
    /// Nanoseconds of an element that is compared, added to a sum, or is one of a mask.
    compared: f64 = 0.2, seen anchors "C5.softmax_xent.1024x1000";
    /// Nanoseconds of an element that is chosen, or of integer arithmetic.
    chosen: f64 = 0.3, seen anchors "C5.softmax_xent.1024x1000";
    /// Nanoseconds of an element of another type, or of an index that is written.
    converted: f64 = 0.5, seen gallery "single_precision";
    /// Nanoseconds of an element of a gather within a tile.
    tile_gather: f64 = 2.5, measured questions "gathers";
    /// Nanoseconds of an element of a gather, scatter or view by a kernel of its own.
    gather: f64 = 2.0, measured questions "gathers";
    /// Nanoseconds of a comparison of two elements that are sorted or selected.
    sorted: f64 = 1.0, measured questions "sorting and selection";
    /// Nanoseconds of an element that a kernel for extrema reads.
    extremum: f64 = 0.5, measured anchors "C5.softmax_xent.1024x1000";
    /// Nanoseconds of an element that a kernel for positions of extrema, or for transpositions, reads.
    position: f64 = 1.0, measured questions "views of a million";
    /// Nanoseconds of a product in a kernel for matrices.
    tiled_product: f64 = 0.04, measured questions "matrix products";
    /// Nanoseconds of a product in tiles of registers, of matrices with short axes.
    short_product: f64 = 0.2, measured questions "small products";
    /// Nanoseconds of a product in loops.
    looped_product: f64 = 0.3, measured questions "products with a matrix";
    /// Nanoseconds of a product of a factorisation of a small matrix.
    factor_product: f64 = 0.3, measured questions "small matrices";

    // The start of an operation.

    /// Nanoseconds to start an operation on an array in a trip of a loop, where a value is computed again, not stored.
    trip_call: f64 = 20.0, measured anchors "C9.recur_vec128.T1e3";
    /// Nanoseconds of work that make up for the start of an operation on another tile, on another thread.
    tile_call: f64 = 80.0, seen threads "C9.recur_vec128.T1e3";
    /// Bytes that move in the time of an operation on an array, where a choice by position is cut.
    call_bytes: usize = 64, seen gallery "heat_equation";
    /// Least bytes of a row that a loop computes instead of reading it.
    sunk_row: usize = 1024, seen anchors "C9.recur_vec128.T1e3";
    /// Elements of a value of a trip beside which the cost of the trip is nothing.
    large_trip: usize = 1 << 17, seen anchors "B.rnn.b64.f64";
    /// Interpreted elements that take as long as to compile an operation.
    compiled_operation: u64 = 1000, measured questions "first calls";
    /// Interpreted elements that take as long as an operation that is interpreted, beside its own elements.
    interpreted_call: u64 = 50, measured questions "arrays of";
    /// Least nanoseconds of a derivative that runs once for which others are made and compared.
    comparison: f64 = 1e6, seen questions "first calls";

    // Threads.

    /// Nanoseconds of work that are worth the way to another thread, which takes tens of microseconds.
    thread: f64 = 150e3, seen threads "C2.dot.1e6";
    /// Nanoseconds of work that make up for a byte of a sum that a part has of its own.
    sum_byte: f64 = 5.0, seen threads "A.gmm.d10k25n1000";
    /// Least products of a part of a sum for each element of its result.
    sum_products: usize = 256, seen threads "C2.dot.1e6";
    /// Elements of a part of a line whose extremum threads share.
    line_part: usize = 1 << 18, seen threads "C8.logsumexp.1e6";

    // Lengths in tile code.

    /// Positions of the longest tiles, whose values stay in the first level of cache, and of parts of long groups.
    tile: usize = 1024, seen anchors "C1.chain.1e6";
    /// Least length of a row that has tiles of its own.
    tile_row: usize = 192, seen anchors "C7.heat.256x100";
    /// Longest rows that are read or added up as grids: longer ones are runs that are worth a call.
    grid_row: usize = 64, seen questions "convolutions";
    /// Least positions of a group whose sides are computed apart.
    halo_group: usize = 4096, seen anchors "C7.heat.256x100";
    /// Least length of a row for each position at its sides, if these are computed apart.
    halo_row: usize = 16, seen anchors "C7.heat.256x100";
    /// Least elements of a value that is computed in another order of its axes.
    interchange: usize = 2048, seen questions "ways to write";
    /// Least length of two axes that change places.
    interchange_axis: usize = 8, seen questions "ways to write";

    // Loops over small arrays: as arrays, or number by number. Trips of `tanh (w c + x)` of 4, 8 and 16 elements took
    // 190, 180 and 560 ns as arrays, and 50, 120 and 340 ns by numbers; those of the gradient of ten sums and products
    // 210, 250 and 370 ns, and 95, 150 and 270 ns. From 24 elements on such sums and products are faster as arrays.

    /// Most elements of an array that becomes numbers.
    numbers: usize = 16, seen anchors "E1.lorenz.1000";
    /// Most elements of an array of which a transcendental function becomes numbers: arithmetic counts less beside it.
    numbers_function: usize = 12, seen anchors "C9.recur_scalar.T1e4";
    /// Most elements of other types than `f64` on which an operation computes number by number: instructions on these
    /// take as long as a step over an array.
    numbers_narrow: usize = 1, seen gallery "single_precision_loop";
    /// Most positions that a view or a contraction runs over number by number: a trip with a product of 4 by 4 matrices
    /// took 700 ns, by numbers 75 ns; one of 8 by 8 matrices as long either way, its gradient twice as long by numbers.
    numbers_positions: usize = 256, seen gallery "crossed_in_a_map";
    /// Most operations of a body on numbers: longer code does not stay in the caches of the processor.
    numbers_operations: usize = 2000, seen anchors "E3.horner.1000";

    // Kernels.

    /// Least elements for which loops for the instruction set of the machine are called.
    isa_run: usize = 32, measured questions "arrays of";
    /// Least elements of a sum of products for which they are called.
    isa_sum: usize = 128, measured questions "products with a matrix";
    /// Length under which a run costs more than its elements.
    short_run: usize = 16, seen anchors "A.gmm.d10k25n1000";
    /// Least products of a matrix product that is worth packing its operands.
    packed: usize = 512, measured questions "matrix products";
    /// Products of a matrix from which on many of them are better packed one by one.
    small_matrix: usize = 2048, measured questions "small products";
    /// Elements of the lanes of tiles that stay in the first level while all rows are multiplied by them.
    small_panel: usize = 2048, seen questions "small products";
    /// Products from which on many plain matrix products are as fast as one of several axes.
    plain: usize = 16384, seen questions "convolutions";
    /// Steps of the sum of a packed product that are packed at once: a tile's part of the rows stays in the first
    /// level.
    packed_steps: usize = 256, seen questions "convolutions";
    /// Panels of columns that are packed at once: their part of the operand stays in the second level.
    packed_panels: usize = 42, seen questions "convolutions";
    /// Least length of a run along which inner products are summed in tiles.
    summed_run: usize = 16, seen questions "convolutions";
    /// Least steps of a sum for which such tiles pay.
    summed: usize = 256, seen questions "convolutions";
    /// Steps of such a sum during which the lines of a tile stay in the first level; a multiple of all sides of tiles.
    summed_steps: usize = 1024, seen questions "convolutions";
    /// Side of the square tiles in which matrices are transposed: one or two lines of cache.
    transposed_tile: usize = 16, seen questions "views of a million";
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{COMMANDS, MACHINE};

    /// The texts of the Rust files of a folder.
    fn texts(folder: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let files = paths.filter(|path| path.extension().is_some_and(|e| e == "rs"));
        files.map(|path| fs::read_to_string(path).expect("the file can be read")).collect()
    }

    /// Every command runs something: a question has such a title, there is an objective or a workload of such a name.
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
            assert!(exists, "{name}: `{bench} {title}` is no command");
        }
    }

    /// A larger cache is not nearer, what is far takes longer, and a function takes longer than a product.
    #[test]
    fn constants_are_in_order() {
        let m = MACHINE;
        assert!(m.level1 < m.block && m.block < m.level2_beside && m.level2_beside <= m.level2_stack);
        assert!(m.near_byte < m.far_byte);
        assert!(m.number < m.number_function && m.element < m.moved && m.element < m.element_function);
        assert!(m.arithmetic < m.division && m.division < m.tile_function && m.tile_function < m.tile_function_of_two);
        assert!(
            m.tiled_product < m.short_product
                && m.short_product < m.looped_product
                && m.thread > m.tile_call
                && m.isa_run < m.isa_sum
        );
    }
}
