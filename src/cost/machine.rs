//! Measured constants: times, sizes of caches, and the sizes from which on one way takes less time than another.
//!
//! Law: a number that follows from a measured time, or from the size of a cache, stands here, once, with its unit and a
//! command: `measured` is a command that prints the number or numbers of which it is made, `seen` one whose figures change
//! with it. Times are nanoseconds on one thread. Two rows about one quantity say what differs between them.
//!
//! | command | what it runs |
//! |---|---|
//! | `questions "title"` | `cargo bench --bench questions "title"` |
//! | `gallery "name"` | `cargo bench --bench gallery -- "name"` |
//! | `anchors "name"` | `cargo run --release --example anchors "name" 1`, and with `--explain` the time of each step |
//! | `threads "name"` | `cargo run --release --example anchors "name" 2` beside the same on one thread |
//!
//! The numbers order ways to do the same; none is a prediction. They come from machines with AVX-512.

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
    /// Bytes of a value that stays in the second level of cache beside the others of an operation or of a block of rows.
    level2_beside: usize = 512 << 10, seen anchors "C7.heat.256x100";
    /// Nanoseconds for 8 bytes of the operands and results of an operation that have more than `level2_beside` bytes, in the
    /// estimate of a program: beside the time of the elements, unlike `far_byte`.
    far_number: f64 = 0.2, measured questions "views of a million";
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
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::COMMANDS;

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
                "gallery" => gallery.contains(&format!("NAME: &'static str = \"{title}")),
                "anchors" | "threads" => anchors.contains(&format!("\"{title}\"")),
                _ => false,
            };
            assert!(exists, "{name}: `{bench} {title}` is no command");
        }
    }
}
