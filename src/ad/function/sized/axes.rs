//! `Sizes`: which axes of arguments and data have named sizes.
//!
//! Law: an axis has at most one name, and all axes of a name have one size in an example.

use crate::escape;
use crate::program::{NAME_BYTES, NAMES, NamedSize};
use crate::shape::{Shape, Show};

/// Named sizes of the axes of arguments and data, for a [`SizedFunction`](crate::SizedFunction).
///
/// A part of the arguments is named by its path, as the program prints it: `x` for the argument, `data` for the data,
/// `x.0`, `data.images`. A path to a tree stands for all its leaves.
///
/// Example: [`Sizes::at_least`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    names: Vec<NamedSize>,
    /// The path of a part, an axis of its leaves, and the position of the name.
    axes: Vec<(String, usize, usize)>,
}

/// The axes of each leaf that have a named size, by the position of the name.
pub(super) type NamedAxes = Vec<Vec<Option<usize>>>;

impl Sizes {
    /// No named sizes.
    ///
    /// Example: [`Sizes::at_least`].
    pub fn new() -> Sizes {
        Sizes::default()
    }

    fn position(&mut self, name: &str) -> usize {
        let known = self.names.iter().position(|named| named.name == name);
        known.unwrap_or_else(|| {
            self.names.push(NamedSize { name: name.to_owned(), least: 1 });
            self.names.len() - 1
        })
    }

    /// Names the size of one axis of all leaves of a part of the arguments.
    ///
    /// Example: [`Sizes::at_least`].
    #[must_use]
    pub fn axis(mut self, path: &str, axis: usize, name: &str) -> Sizes {
        let position = self.position(name);
        self.axes.push((path.to_owned(), axis, position));
        self
    }

    /// The least size of this name, 1 by default. The function is recorded at this size, too; a size of 0 must be asked
    /// for, as many functions have no meaning there.
    ///
    /// ```
    /// use polygrad::{Function, SizedFunction, Sizes, Tensor, tensor};
    /// let sizes = Sizes::new().axis("x", 0, "n").axis("x", 1, "width").at_least("n", 2);
    /// assert_eq!(sizes.names(), ["n", "width"]);
    /// let record = |x: &_, _: &()| Function::stage(|x: &Tensor<_, 2>| x.slice(0, 1..).sum_outer(), x);
    /// let rest = SizedFunction::new(&sizes, record, &tensor([[1.0], [2.0], [3.0]]), &());
    /// assert_eq!(rest.model().inputs(), ["x: f64[n, width]"]);
    /// assert_eq!(rest.run(&tensor([[1.0, 5.0], [2.0, 6.0]])), Ok(tensor([2.0, 6.0])));
    /// assert!(rest.run(&tensor([[1.0, 5.0]])).is_err());
    /// ```
    #[must_use]
    pub fn at_least(mut self, name: &str, least: usize) -> Sizes {
        let position = self.position(name);
        self.names[position].least = least;
        self
    }

    /// The names, in the order in which they were first given.
    ///
    /// Example: [`Sizes::at_least`].
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(|named| named.name.as_str()).collect()
    }

    pub(super) fn named_sizes(&self) -> &[NamedSize] {
        &self.names
    }

    /// The named axes of leaves with these paths and shapes, and the sizes that the names have there.
    ///
    /// # Errors
    /// When a name has no axis, an axis does not exist, or the axes of a name have several sizes.
    pub(super) fn of_leaves(&self, paths: &[String], shapes: &[Shape]) -> Result<(NamedAxes, Vec<usize>), String> {
        if self.names.is_empty() || self.names.len() > NAMES {
            return Err(format!(
                "sizes: there must be 1 to {NAMES} names, but there are {}; name an axis by `axis`, and record a function \
                 for the other sizes",
                self.names.len()
            ));
        }
        if let Some(long) = self.names.iter().find(|named| named.name.len() > NAME_BYTES) {
            return Err(format!(
                "sizes: a name must have at most {NAME_BYTES} bytes, but one has {}; take a word",
                long.name.len()
            ));
        }
        let mut named: NamedAxes = shapes.iter().map(|shape| vec![None; shape.len()]).collect();
        let mut sizes: Vec<Option<(usize, &str)>> = vec![None; self.names.len()];
        for (path, axis, name) in &self.axes {
            let is_part = |leaf: &str| {
                leaf.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let leaves: Vec<usize> = (0..paths.len()).filter(|k| is_part(&paths[*k])).collect();
            if leaves.is_empty() {
                return Err(format!(
                    "sizes: a path must be that of a part of the arguments, but there is no {} among {}; write it as \
                     the program prints it",
                    escape::quoted(path),
                    paths.iter().map(|path| escape::name(path)).collect::<Vec<_>>().join(", ")
                ));
            }
            for leaf in leaves {
                let Some(n) = shapes[leaf].get(*axis) else {
                    return Err(format!(
                        "sizes: a named axis must exist, but axis {axis} of {} does not, whose shape is {}; count axes from 0",
                        escape::quoted(&paths[leaf]),
                        Show(&shapes[leaf])
                    ));
                };
                let (own, at) = (&self.names[*name].name, paths[leaf].as_str());
                match (named[leaf][*axis], sizes[*name]) {
                    (Some(other), _) if other != *name => {
                        return Err(format!(
                            "sizes: an axis must have one name, but axis {axis} of {} is called {} and {}; name it \
                             once",
                            escape::quoted(at),
                            escape::quoted(&self.names[other].name),
                            escape::quoted(own)
                        ));
                    }
                    (_, Some((m, first))) if m != *n => {
                        return Err(format!(
                            "sizes: the axes named {} must have one size, but it is {m} in {} and {n} in {} of the example; use \
                             two names, or arguments of one size",
                            escape::quoted(own),
                            escape::quoted(first),
                            escape::quoted(at)
                        ));
                    }
                    (_, _) => (named[leaf][*axis], sizes[*name]) = (Some(*name), Some((*n, at))),
                }
            }
        }
        match sizes.iter().position(Option::is_none) {
            Some(name) => Err(format!(
                "sizes: a name must be that of an axis, but {} is not; name an axis by `axis`",
                escape::quoted(&self.names[name].name)
            )),
            None => Ok((named, sizes.into_iter().flatten().map(|(n, _)| n).collect())),
        }
    }
}
