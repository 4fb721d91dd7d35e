//! Laws that are known not to hold: the name, the most that is accepted, and the cause.
//!
//! A row leaves this table when its cause is gone. None is added for a program that has become slower.

/// The name of a law, the ratio that is accepted, and the cause.
pub(crate) const EXCEPTIONS: &[(&str, f64, &str)] = &[
    ("whole: a product, relu, both [1000, 3]", 1.15, ROW_BLOCKS),
    ("whole: a product, relu, both [300, 10]", 1.1, ROW_BLOCKS),
    ("whole: an outer product, squared, both [90, 33]", 1.1, ROW_BLOCKS),
    ("optimized: convolution, optimized", 1.4, "the estimate of work does not know which adjoints are cheap kernels"),
    ("neighbours: sum of a middle axis, f64, of 8", 1.8, VIEWS),
    ("neighbours: sum of a middle axis, f32, of 8", 2.2, VIEWS),
    ("neighbours: sum of a middle axis, f64, of 15", 1.65, "tiles of 1024 cut grids of 60"),
    ("neighbours: sum of a middle axis, f64, of 65", 4.3, STACKS),
    ("neighbours: sum of a middle axis, f32, of 65", 4.5, STACKS),
    ("neighbours: sum of an outer axis, f64, of 9", 2.7, VIEWS),
    ("neighbours: sum of an outer axis, f32, of 9", 2.3, VIEWS),
    ("neighbours: matrix times vector, f64, of 9", 3.0, UNROLLED),
    ("neighbours: matrix times vector, f32, of 9", 2.1, UNROLLED),
    ("neighbours: Gram matrix of rows, f64, of 2", 1.7, VECTORS),
    ("neighbours: Gram matrix of rows, f64, of 9", 6.0, UNROLLED),
    ("neighbours: Gram matrix of rows, f32, of 9", 6.6, UNROLLED),
    ("neighbours: squares of matrices, f64, of 2", 1.7, VECTORS),
    ("neighbours: squares of matrices, f32, of 2", 1.6, VECTORS),
    ("neighbours: squares of matrices, f64, of 9", 3.8, UNROLLED),
    ("neighbours: squares of matrices, f32, of 9", 2.9, UNROLLED),
    ("neighbours: squares of matrices, f32, of 17", 1.8, "the last of 17 lanes takes a tile of its own"),
    (
        "neighbours: outer products, f64, of 8",
        2.1,
        "rows of 8 run in the unrolled kernel, which AVX2 does in two halves",
    ),
    (
        "neighbours: outer products, f32, of 8",
        1.6,
        "rows of 8 run in the unrolled kernel, which AVX2 does in two halves",
    ),
    ("neighbours: outer products, f64, of 65", 2.0, GRIDS),
    ("neighbours: outer products, f32, of 65", 2.5, GRIDS),
    ("neighbours: running sums of an inner axis, f64, of 64", 2.3, "lines of 64 and more are cut in chunks"),
    ("neighbours: padding, f64, of 9", 1.85, "rows of up to 8 have code for their length"),
];

const ROW_BLOCKS: &str = "the overhead of a product in row blocks";
const VIEWS: &str = "sums of up to 8 elements are sums of views";
const STACKS: &str = "grids of more than 256 elements are no stacks";
const UNROLLED: &str = "sums and rows of up to 8 elements are unrolled";
const VECTORS: &str = "a row of 2 fills half of the shortest vector";
const GRIDS: &str = "rows of up to 64 are read as grids";
