//! The familiar names of linear and bilinear operations: the inverse of their constructors.
//!
//! Views, contractions and their adjoints are data; their familiar names are sums, slices, matrix products. Law: a name
//! is found by making the operation of that name and comparing, so a name and the shapes of the operands determine the
//! operation. An operation without a name is printed as views.

use std::fmt;

use smallvec::SmallVec;

use super::{Contract, Linear, View};
use crate::dtype::DType;
use crate::shape::{Shape, Show};

/// The elements `start, start + step, ..`, `len` of them, along one axis.
///
/// Example: [`Familiar`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// The axis.
    pub axis: usize,
    /// The first position.
    pub start: usize,
    /// The number of positions.
    pub len: usize,
    /// The distance between neighbouring positions.
    pub step: usize,
}

/// A linear operation by its name. `Display` is the name and the parameters; with the shape of the argument they
/// determine the operation.
///
/// Closed: whoever prints or exports linear operations knows each name.
///
/// ```
/// use polygrad::ops::{Cut, Familiar, Linear};
/// let cut = Cut { axis: 0, start: 1, len: 2, step: 2 };
/// assert_eq!(Linear::slice(&[5], 0, 1, 2, 2).familiar(), Some(Familiar::Slice([cut].into_iter().collect())));
/// assert_eq!(Linear::reverse(&[3], 0).familiar(), Some(Familiar::Reverse([0].as_slice().into())));
/// assert_eq!(Linear::sum(&[2, 3], &[0, 1]).familiar(), Some(Familiar::Total));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Familiar {
    /// The argument itself.
    Identity,
    /// [`Linear::sum`] over all axes.
    Total,
    /// [`Linear::sum`] over these axes, in order.
    Sum(Shape),
    /// [`Linear::replicate`] along new outermost axes of these sizes.
    Replicate(Shape),
    /// [`Linear::replicate`] to a shape; the second list has the axes of the result that the axes of the argument
    /// become.
    ReplicateInto(Shape, Shape),
    /// A broadcast: axes of size 1 are repeated to this shape.
    Broadcast(Shape),
    /// Sums to this shape along axes that stay, with size 1: the adjoint of [`Broadcast`](Familiar::Broadcast).
    SumTo(Shape),
    /// [`Linear::permute`].
    Permute(Shape),
    /// [`Linear::slice`] along several axes, in order.
    Slice(SmallVec<[Cut; 2]>),
    /// [`Linear::row`]: axis and position.
    Row(usize, usize),
    /// [`Linear::pad`]: widths before and after.
    Pad(Vec<(usize, usize)>),
    /// [`Linear::reverse`] along several axes, in order.
    Reverse(Shape),
    /// [`Linear::diagonal`].
    Diagonal(usize, usize),
    /// [`Linear::window`]: axis, size and stride.
    Window(usize, usize, usize),
    /// [`Linear::reshape`] into this shape.
    Reshape(Shape),
    /// [`Linear::cast`] into this type.
    Cast(DType),
    /// [`Linear::fourier`]: axis, axis of the parts, and whether it is the conjugate one.
    Fourier(usize, usize, bool),
    /// [`Linear::prefix_sum`]: axis, and whether the sums are those of suffixes.
    PrefixSum(usize, bool),
    /// The adjoint of the operation of that name, which takes an argument of that shape.
    Adjoint(Box<Familiar>, Shape),
}

impl Linear {
    /// The familiar name of the operation, if it has one.
    ///
    /// ```
    /// use polygrad::ops::Linear;
    /// let name = |l: Linear| l.familiar().map(|name| name.to_string());
    /// assert_eq!(name(Linear::sum(&[2, 3], &[0])).as_deref(), Some("sum axis=0"));
    /// assert_eq!(name(Linear::slice(&[9], 0, 2, 3, 1).adjoint()).as_deref(), Some("pad [(2, 4)]"));
    /// ```
    pub fn familiar(&self) -> Option<Familiar> {
        self.familiar_or_views().ok()
    }

    /// The name, or the views of an operation that has none.
    pub(super) fn familiar_or_views(&self) -> Result<Familiar, [&View; 2]> {
        Ok(match self {
            _ if self.is_identity() => Familiar::Identity,
            Linear::Reshape { into, .. } => Familiar::Reshape(into.clone()),
            Linear::Cast { into, .. } => Familiar::Cast(*into),
            Linear::Fourier { parts, axis, conjugate, .. } => Familiar::Fourier(*axis, *parts, *conjugate),
            Linear::PrefixSum { axis, reverse, .. } => Familiar::PrefixSum(*axis, *reverse),
            Linear::Affine { from, into } => {
                let name = own_name(self, from, into).or_else(|| name_by_adjoint(&self.adjoint(), into, from));
                return name.ok_or([from, into]);
            }
        })
    }
}

/// The permutation that undoes one.
pub(crate) fn inverse(perm: &[usize]) -> Shape {
    let mut out = Shape::from_slice(perm);
    perm.iter().enumerate().for_each(|(k, p)| out[*p] = k);
    out
}

/// The name of an operation that is not the adjoint of a named operation.
fn own_name(op: &Linear, from: &View, into: &View) -> Option<Familiar> {
    if into.is_identity() {
        return selection(op, from).or_else(|| cuts(op, from)).or_else(|| row(op, from)).or_else(|| window(op, from));
    }
    if from.is_identity() {
        return sum(op, from, into).or_else(|| pad(op, from.source(), into));
    }
    None
}

/// The name of the adjoint of an operation with these views.
fn name_by_adjoint(op: &Linear, from: &View, into: &View) -> Option<Familiar> {
    let shape = Shape::from_slice(op.input_shape());
    let name = own_name(op, from, into)?;
    // The adjoint of a permutation is its inverse.
    Some(if let Familiar::Permute(perm) = &name {
        Familiar::Permute(inverse(perm))
    } else if let Familiar::Reverse(_) = name {
        name
    } else if let Familiar::Broadcast(_) = name {
        Familiar::SumTo(shape)
    } else {
        Familiar::Adjoint(Box::new(name), shape)
    })
}

/// The axes by which [`View::axes`] makes this view, if there are such.
fn axes_of(view: &View) -> Option<Shape> {
    let shape = view.shape();
    let mut axes = Shape::new();
    for (k, n) in view.source().iter().enumerate() {
        let moved = view.row(k).iter().position(|m| *m != 0);
        // A coefficient of an axis of size 1 is 0, so the axis is guessed: axes are mostly named in order.
        let next = axes.last().map_or(0, |last| last + 1);
        let fits = |j: &usize| shape[*j] == *n && !axes.contains(j);
        axes.push(moved.or_else(|| (next..shape.len()).find(fits)).or_else(|| (0..next).find(fits))?);
    }
    let fits = axes.iter().zip(view.source()).all(|(j, n)| shape[*j] == *n);
    (fits && View::axes(shape, &axes) == *view).then_some(axes)
}

/// The name of an operation that reads its argument at some axes of the result: a broadcast, permutation or diagonal.
fn selection(op: &Linear, from: &View) -> Option<Familiar> {
    let (shape, source) = (from.shape(), from.source());
    if let Some(new) = shape.len().checked_sub(source.len()).filter(|new| shape[*new..] == *source) {
        let last: Shape = (new..shape.len()).collect();
        if Linear::replicate(shape, &last) == *op {
            return Some(Familiar::Replicate(Shape::from_slice(&shape[..new])));
        }
    }
    if let Some(axes) = axes_of(from) {
        let perm: Option<Shape> = (0..shape.len()).map(|k| axes.iter().position(|a| *a == k)).collect();
        match perm {
            Some(perm) if axes.len() == shape.len() && Linear::permute(source, &perm) == *op => {
                return Some(Familiar::Permute(perm));
            }
            Some(_) if axes.len() == shape.len() + 1 => {
                let twice = |second: &usize| axes[..*second].contains(&axes[*second]);
                let second = (0..axes.len()).find(twice)?;
                let first = axes.iter().position(|a| *a == axes[second])?;
                if Linear::diagonal(source, first, second) == *op {
                    return Some(Familiar::Diagonal(first, second));
                }
            }
            Some(_) | None => {}
        }
        if Linear::replicate(shape, &axes) == *op {
            return Some(Familiar::ReplicateInto(Shape::from_slice(shape), axes));
        }
    }
    let stretched = source.len() == shape.len() && source.iter().zip(shape).all(|(n, m)| *n == 1 || n == m);
    (stretched && broadcast(source, shape) == *op).then(|| Familiar::Broadcast(Shape::from_slice(shape)))
}

/// The broadcast that repeats axes of size 1.
fn broadcast(source: &[usize], shape: &[usize]) -> Linear {
    let rank = shape.len();
    let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, rank * rank);
    (0..rank).for_each(|k| matrix[k * rank + k] = i64::from(source[k] == shape[k]));
    let offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, rank);
    Linear::read(View::affine(source, shape, &matrix, &offset))
}

/// The name of slices, or reversals, along several axes.
fn cuts(op: &Linear, from: &View) -> Option<Familiar> {
    let (shape, source) = (from.shape(), from.source());
    if shape.len() != source.len() {
        return None;
    }
    let step = |k: usize| from.row(k)[k];
    let backwards: Shape = (0..shape.len()).filter(|k| step(*k) == -1).collect();
    if !backwards.is_empty() {
        let reversed = composed(source, backwards.iter().map(|axis| Linear::reverse(source, *axis)))?;
        return (reversed == *op).then_some(Familiar::Reverse(backwards));
    }
    let mut found = SmallVec::new();
    let mut steps = Vec::new();
    let mut now = Shape::from_slice(source);
    for (axis, &len) in shape.iter().enumerate() {
        if from.offset()[axis] == 0 && len == source[axis] {
            continue;
        }
        let start = usize::try_from(from.offset()[axis]).ok()?;
        let step = usize::try_from(step(axis)).ok()?.max(1);
        if len > 0 && start + (len - 1) * step >= source[axis] {
            return None;
        }
        found.push(Cut { axis, start, len, step });
        steps.push(Linear::slice(&now, axis, start, len, step));
        now[axis] = len;
    }
    (composed(source, steps.into_iter())? == *op).then_some(Familiar::Slice(found))
}

/// The composition of operations on an argument of this shape, in order.
fn composed(shape: &[usize], mut steps: impl Iterator<Item = Linear>) -> Option<Linear> {
    steps.try_fold(Linear::read(View::identity(shape)), |before, step| step.after(&before))
}

fn row(op: &Linear, from: &View) -> Option<Familiar> {
    let (shape, source) = (from.shape(), from.source());
    if source.len() != shape.len() + 1 {
        return None;
    }
    let found = (0..source.len()).find_map(|axis| {
        let position = usize::try_from(from.offset()[axis]).ok().filter(|p| *p < source[axis])?;
        (Linear::row(source, axis, position) == *op).then_some((axis, position))
    });
    found.map(|(axis, position)| Familiar::Row(axis, position))
}

fn window(op: &Linear, from: &View) -> Option<Familiar> {
    let (shape, source) = (from.shape(), from.source());
    if shape.len() != source.len() + 1 {
        return None;
    }
    let found = (0..source.len()).find_map(|axis| {
        let size = shape[axis + 1];
        if size == 0 || size > source[axis] {
            return None;
        }
        // With one window alone, the view does not depend on the stride.
        let stride = if shape[axis] > 1 { from.row(axis)[axis] } else { (source[axis] - size + 1) as i64 };
        let stride = usize::try_from(stride).ok().filter(|s| *s > 0)?;
        let whole = (source[axis] - size) / stride + 1 == shape[axis];
        (whole && Linear::window(source, axis, size, stride) == *op).then_some((axis, size, stride))
    });
    found.map(|(axis, size, stride)| Familiar::Window(axis, size, stride))
}

fn sum(op: &Linear, from: &View, into: &View) -> Option<Familiar> {
    let shape = from.shape();
    let kept = axes_of(into)?;
    let summed: Shape = (0..shape.len()).filter(|axis| !kept.contains(axis)).collect();
    let name = if kept.is_empty() { Familiar::Total } else { Familiar::Sum(summed.clone()) };
    (Linear::sum(shape, &summed) == *op).then_some(name)
}

fn pad(op: &Linear, shape: &[usize], into: &View) -> Option<Familiar> {
    if into.source().len() != shape.len() {
        return None;
    }
    let width = |k: usize| {
        let before = usize::try_from(into.offset()[k]).ok()?;
        Some((before, into.source()[k].checked_sub(before + shape[k])?))
    };
    let widths: Vec<(usize, usize)> = (0..shape.len()).map(width).collect::<Option<_>>()?;
    let (before, after): (Vec<usize>, Vec<usize>) = widths.iter().copied().unzip();
    (Linear::pad(shape, &before, &after) == *op).then_some(Familiar::Pad(widths))
}

impl fmt::Display for Familiar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Familiar::Identity => f.write_str("identity"),
            Familiar::Total => f.write_str("sum"),
            Familiar::Sum(axes) => write!(f, "sum {}", Axes(axes)),
            Familiar::Replicate(sizes) => write!(f, "replicate {}", Show(sizes)),
            Familiar::ReplicateInto(shape, axes) => write!(f, "replicate {} {}", Show(shape), Axes(axes)),
            Familiar::Broadcast(shape) => write!(f, "broadcast {}", Show(shape)),
            Familiar::SumTo(shape) => write!(f, "sum_to {}", Show(shape)),
            Familiar::Permute(perm) => write!(f, "permute {}", Show(perm)),
            Familiar::Slice(cuts) => {
                f.write_str("slice")?;
                cuts.iter().try_for_each(|Cut { axis, start, len, step }| {
                    let end = if *len == 0 { *start } else { start + (len - 1) * step + 1 };
                    write!(f, " axis={axis} {start}..{end}")?;
                    if *step == 1 { Ok(()) } else { write!(f, " step={step}") }
                })
            }
            Familiar::Row(0, position) => write!(f, "row {position}"),
            Familiar::Row(axis, position) => write!(f, "row axis={axis} {position}"),
            Familiar::Pad(widths) => write!(f, "pad {widths:?}"),
            Familiar::Reverse(axes) => write!(f, "reverse {}", Axes(axes)),
            Familiar::Diagonal(first, second) => write!(f, "diagonal axes={}", Show(&[*first, *second])),
            Familiar::Window(axis, size, stride) => write!(f, "window axis={axis} size={size} stride={stride}"),
            Familiar::Reshape(shape) => write!(f, "reshape {}", Show(shape)),
            Familiar::Cast(into) => write!(f, "cast {into}"),
            Familiar::Fourier(axis, parts, conjugate) => {
                let sign = if *conjugate { " conjugate" } else { "" };
                write!(f, "fourier axis={axis} parts={parts}{sign}")
            }
            Familiar::PrefixSum(axis, false) => write!(f, "prefix_sum axis={axis}"),
            Familiar::PrefixSum(axis, true) => write!(f, "suffix_sum axis={axis}"),
            Familiar::Adjoint(name, shape) => write!(f, "adjoint ({name}) {}", Show(shape)),
        }
    }
}

/// `axis=1` or `axes=[0, 2]`.
struct Axes<'a>(&'a [usize]);

impl fmt::Display for Axes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [axis] => write!(f, "axis={axis}"),
            axes => write!(f, "axes={}", Show(axes)),
        }
    }
}

/// A product by its name, and for each operand whether it enters with its last two axes exchanged.
///
/// ```
/// use polygrad::ops::{Contract, Product};
/// // Both matrices have the summed axis last.
/// let product = Contract::axes(&[2, 3, 4], &[0, 2], &[1, 2], &[0, 1]).familiar();
/// assert_eq!(product, Some(Product { name: "matmul", left: false, right: true }));
/// assert_eq!(Contract::axes(&[2, 3], &[0], &[1], &[1, 0]).familiar(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// The name: `dot`, `outer`, `matmul`, `matvec`, `vecmat` or `batched_matmul`.
    pub name: &'static str,
    /// Whether the left operand enters transposed.
    pub left: bool,
    /// Whether the right operand enters transposed.
    pub right: bool,
}

/// The name, the transposed operands, and the axes of `a`, `b` and the result.
type Pattern = (&'static str, [bool; 2], [&'static [usize]; 3]);

/// Products of matrices and vectors: the axes of `a`, `b` and the result, in an iteration space whose axes are numbered
/// in their order in `a`, then in `b`.
const PRODUCTS: [Pattern; 12] = [
    ("matvec", [false, false], [&[0, 1], &[1], &[0]]),
    ("matvec", [true, false], [&[0, 1], &[0], &[1]]),
    ("vecmat", [false, false], [&[0], &[0, 1], &[1]]),
    ("vecmat", [false, true], [&[0], &[1, 0], &[1]]),
    ("matmul", [false, false], [&[0, 1], &[1, 2], &[0, 2]]),
    ("matmul", [true, false], [&[0, 1], &[0, 2], &[1, 2]]),
    ("matmul", [false, true], [&[0, 1], &[2, 1], &[0, 2]]),
    ("matmul", [true, true], [&[0, 1], &[2, 0], &[1, 2]]),
    ("batched_matmul", [false, false], [&[0, 1, 2], &[0, 2, 3], &[0, 1, 3]]),
    ("batched_matmul", [true, false], [&[0, 1, 2], &[0, 1, 3], &[0, 2, 3]]),
    ("batched_matmul", [false, true], [&[0, 1, 2], &[0, 3, 2], &[0, 1, 3]]),
    ("batched_matmul", [true, true], [&[0, 1, 2], &[0, 3, 1], &[0, 2, 3]]),
];

impl Contract {
    /// The familiar name of the product, if it has one, whatever the order of its sum.
    ///
    /// Example: [`Product`].
    pub fn familiar(&self) -> Option<Product> {
        let (a, b) = (self.a.source(), self.b.source());
        let plain = |name| Some(Product { name, left: false, right: false });
        let all: Shape = (0..a.len()).collect();
        if a == b && Contract::axes(a, &all, &all, &[]) == *self {
            return plain("dot");
        }
        let found = PRODUCTS.iter().find(|(_, _, axes)| self.is_product(*axes));
        if let Some((name, [left, right], _)) = found {
            return Some(Product { name, left: *left, right: *right });
        }
        let both: Shape = a.iter().chain(b).copied().collect();
        let (left, right): (Shape, Shape) = ((0..a.len()).collect(), (a.len()..both.len()).collect());
        let every: Shape = (0..both.len()).collect();
        let is_outer = *self.out.source() == both[..] && Contract::axes(&both, &left, &right, &every) == *self;
        if is_outer { plain("outer") } else { None }
    }

    /// Whether this is the product in which `a`, `b` and the result have these axes, in some order of the
    /// iteration space.
    fn is_product(&self, axes: [&[usize]; 3]) -> bool {
        let views = [&self.a, &self.b, &self.out];
        if axes.iter().zip(views).any(|(axes, view)| axes.len() != view.source().len()) {
            return false;
        }
        let rank = axes.iter().flat_map(|axes| axes.iter()).max().map_or(0, |last| last + 1);
        let mut sizes: SmallVec<[Option<usize>; 4]> = SmallVec::from_elem(None, rank);
        for (axes, view) in axes.iter().zip(views) {
            for (axis, n) in axes.iter().zip(view.source()) {
                if *sizes[*axis].get_or_insert(*n) != *n {
                    return false;
                }
            }
        }
        let Some(sizes) = sizes.into_iter().collect::<Option<Shape>>() else { return false };
        self.a.shape().len() == rank && self.is_product_in_some_order(&sizes, axes, &mut Shape::new())
    }

    /// Whether some order of the axes of the iteration space makes this the product; `order` is the beginning of such
    /// an order.
    fn is_product_in_some_order(&self, sizes: &[usize], axes: [&[usize]; 3], order: &mut Shape) -> bool {
        let space = self.a.shape();
        if order.len() == space.len() {
            let place = |axis: &usize| order.iter().position(|o| o == axis).unwrap_or(0);
            let [a, b, out] = axes.map(|axes| axes.iter().map(place).collect::<Shape>());
            return Contract::axes(space, &a, &b, &out) == *self;
        }
        (0..sizes.len()).any(|axis| {
            if order.contains(&axis) || sizes[axis] != space[order.len()] {
                return false;
            }
            order.push(axis);
            let found = self.is_product_in_some_order(sizes, axes, order);
            order.pop();
            found
        })
    }
}
