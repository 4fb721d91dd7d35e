//! Keys: what a recorded program depends on, besides the numbers in the leaves.
//!
//! Law: two trees of one type have equal keys if and only if a program that was recorded for one of them may be run for
//! the other. So a key holds the shapes and element types of the leaves, sizes and names in containers, variants of
//! enums, and plain data.

use std::any::Any;
use std::fmt::{self, Debug};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use super::Tree;
use super::visit::{Path, PathStep, Visitor};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::escape;
use crate::shape::{Shape, Show, are_equal};

/// Data without tensors in a tree, such as a size, a name or a choice: every type that is `Clone + PartialEq + Debug`,
/// and can be sent between threads.
///
/// Data are the same if they are equal and have the same `Debug` text; plain floats are the same if their bits are.
///
/// ```
/// use polygrad::tree::Plain;
/// fn are_alike(a: &impl Plain, b: &impl Plain) -> bool {
///     a.is_same(b)
/// }
/// assert!(are_alike(&[1, 2], &[1, 2]) && !are_alike(&0.0, &-0.0) && are_alike(&f64::NAN, &f64::NAN));
/// assert!(!4.is_same(&5) && !4.is_same(&"4") && "x".shared().is_same(&"x"));
/// assert_eq!((4.any().downcast_ref::<i32>(), format!("{:?}", "x".plain())), (Some(&4), "\"x\"".into()));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be plain data in a tree",
    note = "a field whose type does not mention the interpreter is plain data: `Clone + PartialEq + Debug + Send + Sync`"
)]
pub trait Plain: Debug + Send + Sync + 'static {
    /// Whether a program recorded for one of the data may be run for the other.
    ///
    /// Example: [`Plain`].
    fn is_same(&self, other: &dyn Plain) -> bool;

    /// A copy of the data.
    ///
    /// Example: [`Plain`].
    fn shared(&self) -> Arc<dyn Plain>;

    /// The data as [`Any`], for a downcast to their type.
    ///
    /// Example: [`Plain`].
    fn any(&self) -> &dyn Any;

    /// The data as a trait object.
    ///
    /// Example: [`Plain`].
    fn plain(&self) -> &dyn Plain;
}

impl<X: Clone + PartialEq + Debug + Send + Sync + 'static> Plain for X {
    fn is_same(&self, other: &dyn Plain) -> bool {
        other.any().downcast_ref::<X>().is_some_and(|other| same(self, other))
    }

    fn shared(&self) -> Arc<dyn Plain> {
        Arc::new(self.clone())
    }

    fn any(&self) -> &dyn Any {
        self
    }

    fn plain(&self) -> &dyn Plain {
        self
    }
}

/// Whether two data are the same to a program. `0.0 == -0.0`, but their reciprocals differ, and no NaN equals itself:
/// floats are compared by their bits, and data that may contain floats are compared by their `Debug` text, too.
fn same<X: PartialEq + Debug + 'static>(a: &X, b: &X) -> bool {
    let (x, y): (&dyn Any, &dyn Any) = (a, b);
    if let (Some(x), Some(y)) = (x.downcast_ref::<f64>(), y.downcast_ref::<f64>()) {
        return x.to_bits() == y.to_bits();
    }
    if let (Some(x), Some(y)) = (x.downcast_ref::<f32>(), y.downcast_ref::<f32>()) {
        return x.to_bits() == y.to_bits();
    }
    let is_exact = x.is::<usize>() || x.is::<i64>() || x.is::<bool>() || x.is::<String>() || x.is::<&'static str>();
    a == b && (is_exact || format!("{a:?}") == format!("{b:?}"))
}

/// The data that a recorded program depends on, besides numbers: the key under which it is kept. See [`Tree::key`].
///
/// ```
/// use polygrad::tree::{Keep, Key, Tree};
/// use polygrad::tensor;
/// let key: Key = (tensor([1.0, 2.0]), Keep(4)).key();
/// assert_eq!(key, (tensor([3.0, 4.0]), Keep(4)).key());
/// assert!(key != (tensor([1.0, 2.0]), Keep(2)).key() && key != (tensor([1.0]), Keep(4)).key());
/// assert!(key.is_of(&(tensor([3.0, 4.0]), Keep(4))) && !key.is_of(&(tensor([3.0]), Keep(4))));
/// ```
#[derive(Clone, Default)]
pub struct Key {
    parts: Vec<KeyPart>,
}

/// Plain data are compared and shown, never changed: a panic while they are leaves the key as it was.
impl UnwindSafe for Key {}
impl RefUnwindSafe for Key {}

#[derive(Clone)]
enum KeyPart {
    Leaf(Shape, DType),
    Plain(Arc<dyn Plain>),
    Enter(Label),
    Leave,
}

/// A [`PathStep`] that owns its name.
#[derive(Clone)]
enum Label {
    Field(&'static str),
    Item(usize),
    Name(String),
    Variant(&'static str),
}

impl Label {
    fn of(step: PathStep<'_>) -> Label {
        match step {
            PathStep::Field(name) => Label::Field(name),
            PathStep::Item(k) => Label::Item(k),
            PathStep::Name(name) => Label::Name(name.to_string()),
            PathStep::Variant(name) => Label::Variant(name),
        }
    }

    fn step(&self) -> PathStep<'_> {
        match self {
            Label::Field(name) => PathStep::Field(name),
            Label::Item(k) => PathStep::Item(*k),
            Label::Name(name) => PathStep::Name(name),
            Label::Variant(name) => PathStep::Variant(name),
        }
    }

    #[inline]
    fn is(&self, step: PathStep<'_>) -> bool {
        match (self, step) {
            (Label::Field(a), PathStep::Field(b)) | (Label::Variant(a), PathStep::Variant(b)) => are_names(a, b),
            (Label::Item(a), PathStep::Item(b)) => *a == b,
            // The name itself follows as plain data, which are compared.
            (Label::Name(_), PathStep::Name(_)) => true,
            (Label::Field(_) | Label::Item(_) | Label::Name(_) | Label::Variant(_), _) => false,
        }
    }
}

impl KeyPart {
    fn is(&self, other: &KeyPart) -> bool {
        match (self, other) {
            (KeyPart::Leaf(s, t), KeyPart::Leaf(u, v)) => s == u && t == v,
            (KeyPart::Plain(a), KeyPart::Plain(b)) => a.is_same(&**b),
            (KeyPart::Enter(a), KeyPart::Enter(b)) => a.is(b.step()),
            (KeyPart::Leave, KeyPart::Leave) => true,
            (KeyPart::Leaf(..) | KeyPart::Plain(_) | KeyPart::Enter(_) | KeyPart::Leave, _) => false,
        }
    }

    /// The words of a message for this part of a structure.
    fn words(&self) -> String {
        match self {
            KeyPart::Leaf(..) => String::from("a tensor"),
            KeyPart::Plain(data) => format!("{data:?}"),
            KeyPart::Enter(Label::Variant(name)) => (*name).to_owned(),
            KeyPart::Enter(Label::Field(name)) => format!("a part `{name}`"),
            KeyPart::Enter(Label::Item(k)) => format!("an element `{k}`"),
            KeyPart::Enter(Label::Name(name)) => format!("an element {}", escape::quoted(name)),
            KeyPart::Leave => String::from("no further part"),
        }
    }
}

impl Key {
    /// Whether this is the key of a tree; costs less than making the key of the tree.
    ///
    /// Example: [`Key`].
    pub fn is_of<T: BaseTensor, P: Tree<T>>(&self, tree: &P) -> bool {
        self.is_shown(&|visitor: &mut dyn Visitor<T>| tree.visit(visitor))
    }

    /// The key of the structure that `show` shows to a visitor.
    pub(crate) fn shown<T: BaseTensor>(show: &dyn Fn(&mut dyn Visitor<T>)) -> Key {
        let mut key = Key::default();
        show(&mut key);
        key
    }

    /// Whether this is the key of the structure that `show` shows to a visitor.
    pub(crate) fn is_shown<T: BaseTensor>(&self, show: &dyn Fn(&mut dyn Visitor<T>)) -> bool {
        let mut comparison = Comparison { rest: &self.parts, equal: true, taken: |_: &T| {} };
        show(&mut comparison);
        comparison.equal && comparison.rest.is_empty()
    }

    /// Whether this is the key of the fields `x` and `data` that these functions show to a visitor. The leaves of both
    /// are appended to a list, up to the first difference.
    pub(crate) fn takes<T: BaseTensor>(
        &self,
        x: &dyn Fn(&mut dyn Visitor<T>),
        data: &dyn Fn(&mut dyn Visitor<T>),
        leaves: &mut Vec<T>,
    ) -> bool {
        let mut comparison = Comparison { rest: &self.parts, equal: true, taken: |leaf: &T| leaves.push(leaf.clone()) };
        for (name, tree) in [("x", x), ("data", data)] {
            comparison.next(|part| matches!(part, KeyPart::Enter(Label::Field(field)) if are_names(field, name)));
            tree(&mut comparison);
            comparison.next(|part| matches!(part, KeyPart::Leave));
        }
        comparison.equal && comparison.rest.is_empty()
    }

    /// The shapes of the leaves, in order.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        let leaf = |part: &KeyPart| match part {
            KeyPart::Leaf(shape, _) => Some(shape.clone()),
            KeyPart::Plain(_) | KeyPart::Enter(_) | KeyPart::Leave => None,
        };
        self.parts.iter().filter_map(leaf).collect()
    }

    /// The same key with leaves of these shapes.
    pub(crate) fn with_shapes(&self, shapes: impl IntoIterator<Item = Shape>) -> Key {
        let (mut key, mut shapes) = (self.clone(), shapes.into_iter());
        for part in &mut key.parts {
            if let KeyPart::Leaf(shape, _) = part
                && let Some(other) = shapes.next()
            {
                *shape = other;
            }
        }
        key
    }

    /// The first difference to another key.
    pub(crate) fn compared(&self, other: &Key) -> Option<Difference> {
        if self == other { None } else { self.difference(other) }
    }

    /// The key of the arguments without data, and that of the data, of a key of both as fields.
    pub(crate) fn of_both(&self) -> (Key, Key) {
        let mut depth = 0usize;
        let ends = |part: &KeyPart| {
            match part {
                KeyPart::Enter(_) => depth += 1,
                KeyPart::Leave => depth -= 1,
                KeyPart::Leaf(..) | KeyPart::Plain(_) => {}
            }
            depth == 0
        };
        let end = self.parts.iter().position(ends).map_or(0, |k| k + 1);
        let (x, data) = self.parts.split_at(end);
        let nothing = [KeyPart::Enter(Label::Field("data")), KeyPart::Leave];
        (Key { parts: [x, &nothing].concat() }, Key { parts: data.to_vec() })
    }

    /// The first difference between the structure of this key and the one that `show` shows to a visitor.
    pub(crate) fn difference_to<T: BaseTensor>(&self, show: &dyn Fn(&mut dyn Visitor<T>)) -> Option<Difference> {
        // The comparison allocates nothing; only a difference needs a second key.
        if self.is_shown(show) { None } else { self.difference(&Key::shown(show)) }
    }

    fn difference(&self, other: &Key) -> Option<Difference> {
        let mut path = Path::default();
        // Where the contents of each open part begin.
        let (mut starts, end) = (vec![0], &KeyPart::Leave);
        for k in 0..self.parts.len().max(other.parts.len()) {
            let [needed, given] = [self, other].map(|key| key.parts.get(k).unwrap_or(end));
            if !needed.is(given) {
                let start = starts.last().copied().unwrap_or(0);
                let counts = [self, other].map(|key| key.elements(start));
                return Some(Difference::of(path.text(), [needed, given], counts));
            }
            match needed {
                KeyPart::Enter(label) => {
                    path.enter(label.step());
                    starts.push(k + 1);
                }
                KeyPart::Leave => {
                    path.leave();
                    starts.pop();
                }
                KeyPart::Leaf(..) | KeyPart::Plain(_) => {}
            }
        }
        None
    }

    /// The number of elements of the part whose contents begin here.
    fn elements(&self, start: usize) -> usize {
        let (mut depth, mut count) = (0usize, 0);
        for part in &self.parts[start..] {
            match part {
                KeyPart::Enter(Label::Item(_) | Label::Name(_)) if depth == 0 => (depth, count) = (1, count + 1),
                KeyPart::Enter(_) => depth += 1,
                KeyPart::Leave if depth == 0 => break,
                KeyPart::Leave => depth -= 1,
                KeyPart::Leaf(..) | KeyPart::Plain(_) => {}
            }
        }
        count
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.parts.len() == other.parts.len() && self.parts.iter().zip(&other.parts).all(|(a, b)| a.is(b))
    }
}

/// The paths of leaves, of plain data and of variants, each with the required value.
impl Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut path, mut map) = (Path::default(), f.debug_map());
        for part in &self.parts {
            match part {
                KeyPart::Enter(label) => {
                    path.enter(label.step());
                    if let Label::Variant(name) = label {
                        map.entry(&path.text(), name);
                    }
                }
                KeyPart::Leave => path.leave(),
                KeyPart::Leaf(shape, dtype) => {
                    map.entry(&path.text(), &format_args!("{dtype} {}", crate::shape::Show(shape)));
                }
                KeyPart::Plain(data) => {
                    map.entry(&path.text(), data);
                }
            }
        }
        map.finish()
    }
}

impl<T: BaseTensor> Visitor<T> for Key {
    fn leaf(&mut self, leaf: &T) {
        self.parts.push(KeyPart::Leaf(Shape::from_slice(leaf.shape()), leaf.dtype()));
    }

    fn plain(&mut self, data: &dyn Plain) {
        self.parts.push(KeyPart::Plain(data.shared()));
    }

    fn enter(&mut self, step: PathStep<'_>) {
        self.parts.push(KeyPart::Enter(Label::of(step)));
    }

    fn leave(&mut self) {
        self.parts.push(KeyPart::Leave);
    }
}

/// The comparison of a shown structure with a key, which calls a function with each equal leaf.
struct Comparison<'a, F> {
    rest: &'a [KeyPart],
    equal: bool,
    taken: F,
}

impl<F> Comparison<'_, F> {
    #[inline(always)]
    fn next(&mut self, fits: impl FnOnce(&KeyPart) -> bool) {
        if !self.equal {
            return;
        }
        self.equal = match self.rest.split_first() {
            Some((part, rest)) => {
                self.rest = rest;
                fits(part)
            }
            None => false,
        };
    }
}

/// Whether two names are equal: most are one text, which needs no comparison.
#[inline]
fn are_names(a: &'static str, b: &'static str) -> bool {
    std::ptr::eq(a, b) || a == b
}

impl<T: BaseTensor, F: FnMut(&T)> Visitor<T> for Comparison<'_, F> {
    fn leaf(&mut self, leaf: &T) {
        self.next(
            |part| matches!(part, KeyPart::Leaf(shape, dtype) if are_equal(shape, leaf.shape()) && *dtype == leaf.dtype()),
        );
        if self.equal {
            (self.taken)(leaf);
        }
    }

    fn plain(&mut self, data: &dyn Plain) {
        self.next(|part| matches!(part, KeyPart::Plain(kept) if kept.is_same(data)));
    }

    fn enter(&mut self, step: PathStep<'_>) {
        self.next(|part| matches!(part, KeyPart::Enter(label) if label.is(step)));
    }

    fn leave(&mut self) {
        self.next(|part| matches!(part, KeyPart::Leave));
    }
}

/// Shape and element type of a leaf.
pub(crate) type LeafKind = (Vec<usize>, DType);

/// How two structures differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// A leaf has another shape or element type.
    Leaf { at: String, needed: LeafKind, given: LeafKind },
    /// Plain data differ.
    Plain { at: String, needed: String, given: String },
    /// The structures have different parts.
    Structure { at: String, needed: String, given: String },
}

impl Difference {
    /// The place where two structures differ, as the end of a sentence, and the words for each of them at that place.
    pub(crate) fn words(self) -> (String, String, String) {
        let (at, needed, given) = match self {
            Difference::Plain { at, needed, given } | Difference::Structure { at, needed, given } => {
                (at, needed, given)
            }
            Difference::Leaf { at, needed, given } => {
                let kind = |(shape, dtype): (Vec<usize>, DType)| format!("{dtype} {}", Show(&shape));
                (at, kind(needed), kind(given))
            }
        };
        let at = if at.is_empty() { at } else { format!(" at {}", escape::quoted(&at)) };
        (at, needed, given)
    }

    /// The difference of two parts at a path, and of the numbers of elements there.
    fn of(path: &str, [needed, given]: [&KeyPart; 2], counts: [usize; 2]) -> Difference {
        let at = path.to_owned();
        match (needed, given) {
            (KeyPart::Enter(Label::Item(_) | Label::Name(_)), KeyPart::Leave)
            | (KeyPart::Leave, KeyPart::Enter(Label::Item(_) | Label::Name(_))) => {
                let [needed, given] = counts.map(|n| format!("{n} element{}", if n == 1 { "" } else { "s" }));
                Difference::Structure { at, needed, given }
            }
            (KeyPart::Leaf(s, t), KeyPart::Leaf(u, v)) => {
                Difference::Leaf { at, needed: (s.to_vec(), *t), given: (u.to_vec(), *v) }
            }
            (KeyPart::Plain(a), KeyPart::Plain(b)) => {
                Difference::Plain { at, needed: format!("{a:?}"), given: format!("{b:?}") }
            }
            (KeyPart::Leaf(..) | KeyPart::Plain(_) | KeyPart::Enter(_) | KeyPart::Leave, _) => {
                Difference::Structure { at, needed: needed.words(), given: given.words() }
            }
        }
    }
}
