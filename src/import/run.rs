//! The reader: one function, generic over the language, that runs a module at any interpreter.
//!
//! Law: each result has the type that the text gives it, or the run ends with an error that names the operation.

use super::module::{ModuleOperation, ParsedModule, RegionBlock, SsaValue};
use super::types::Element;
use super::value::{Imported, ImportedValue, Item, lacks, need};
use super::{control, elementwise, indexing, integers, matrices, numbers, ordering, reductions, shaped, windows};
use crate::base::BaseTensor;
use crate::ops::{Binary, Compare, IntBinary};
use crate::shape::Shape;
use crate::source::{Place, Restored, WrittenAt, placed};

/// What went wrong, and where in the text.
pub(super) struct Failed {
    pub(super) at: u32,
    pub(super) operation: String,
    pub(super) what: String,
}

pub(super) type ModuleRun<X> = Result<X, Failed>;

/// The values of a function, by number.
pub(super) type Bindings<T> = Vec<Option<Item<T>>>;

/// A run of a module.
pub(super) struct Reader<'m, T> {
    pub(super) module: &'m ParsedModule,
    /// In the region of a reduction, whose scalars are arrays of this shape: the shape.
    pub(super) lift: Shape,
    /// The values that the regions of the operation read from outside.
    captured: Vec<(SsaValue, Item<T>)>,
}

/// The values that a block reads, and may not define.
fn mentioned(block: &RegionBlock, all: &mut Vec<SsaValue>) {
    for op in &block.operations {
        all.extend(&op.operands);
        op.regions.iter().for_each(|region| mentioned(region, all));
    }
    all.extend(&block.results);
}

impl<'m, T: BaseTensor> Reader<'m, T> {
    pub(super) fn new(module: &'m ParsedModule) -> Reader<'m, T> {
        Reader { module, lift: Shape::new(), captured: Vec::new() }
    }

    /// The reader for the regions of an operation.
    fn around(&self, op: &ModuleOperation, env: &Bindings<T>) -> Reader<'m, T> {
        let mut all = Vec::new();
        op.regions.iter().for_each(|region| mentioned(region, &mut all));
        all.sort_unstable();
        all.dedup();
        // What a region defines is not there yet, or is overwritten.
        let value = |id: SsaValue| env.get(id as usize)?.clone().map(|item| (id, item));
        Reader { module: self.module, lift: self.lift.clone(), captured: all.into_iter().filter_map(value).collect() }
    }

    /// A float from outside of a region, if it is known.
    pub(super) fn number(&self, id: SsaValue) -> Option<f64> {
        let (_, item) = self.captured.iter().find(|(k, _)| *k == id)?;
        let x = item.tensor().ok()?.re.peek()?;
        x.item::<f64>().ok().or_else(|| x.item::<f32>().ok().map(f64::from))
    }

    /// The results of a function.
    pub(super) fn function(&self, k: usize, args: Vec<Item<T>>) -> ModuleRun<Vec<Item<T>>> {
        let function = &self.module.functions[k];
        let mut env: Bindings<T> = vec![None; function.values as usize];
        self.block(&function.body, args, &mut env)
    }

    /// The results of a block with these arguments.
    pub(super) fn block(
        &self,
        block: &RegionBlock,
        args: Vec<Item<T>>,
        env: &mut Bindings<T>,
    ) -> ModuleRun<Vec<Item<T>>> {
        for (id, arg) in block.arguments.iter().zip(args) {
            env[*id as usize] = Some(arg);
        }
        let outer = placed(Place::UNKNOWN);
        let _restored = Restored(outer.clone());
        for operation in &block.operations {
            let at = operation.location.line().map(|line| WrittenAt::Text(line.clone()));
            placed(Place { at, derivative_of: None }.or(&outer));
            let failed = |what: String| Failed { at: operation.at, operation: operation.name.clone(), what };
            let results = self.operation(operation, env)?;
            if results.len() != operation.types.len() {
                return Err(failed(format!("it has {} results: types for {}", results.len(), operation.types.len())));
            }
            for (k, (item, ty)) in results.into_iter().zip(&operation.types).enumerate() {
                if !item.fits(ty, &self.lift) {
                    return Err(failed(format!("a result must be {ty}: it is {}", item.words())));
                }
                env[operation.first as usize + k] = Some(item);
            }
        }
        let value = |id: &SsaValue| env[*id as usize].clone();
        let missing = || Failed { at: 0, operation: "return".into(), what: "a value without its operation".into() };
        block.results.iter().map(value).collect::<Option<Vec<_>>>().ok_or_else(missing)
    }

    fn operation(&self, op: &ModuleOperation, env: &mut Bindings<T>) -> ModuleRun<Vec<Item<T>>> {
        if let Some(found) = control::run(self, op, env) {
            return found;
        }
        let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
        let mut items = Vec::with_capacity(op.operands.len());
        for id in &op.operands {
            let item = env[*id as usize].clone().ok_or_else(|| failed("an operand without its operation".into()))?;
            items.push(item);
        }
        if op.name == "optimization_barrier" {
            return Ok(items);
        }
        let held: Imported<Vec<&ImportedValue<T>>> = items.iter().map(Item::tensor).collect();
        let mut held: Vec<ImportedValue<T>> = held.map_err(failed)?.into_iter().cloned().collect();
        // A scalar from outside a region.
        if !self.lift.is_empty() {
            for x in &mut held {
                if x.shape() != &self.lift[..] {
                    need(x.shape().is_empty(), || "a region of scalars reads an array".into()).map_err(failed)?;
                    *x = x.replicated(&self.lift, &[]);
                }
            }
        }
        let made = if op.regions.is_empty() { self.made(op, &held)? } else { self.around(op, env).made(op, &held)? };
        Ok(made.into_iter().map(Item::Tensor).collect())
    }

    /// The results of an operation without a region; `None` if it is not read.
    pub(super) fn named(
        &self,
        op: &ModuleOperation,
        x: &[ImportedValue<T>],
    ) -> ModuleRun<Option<Vec<ImportedValue<T>>>> {
        let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
        if let Some(found) = scalar(op, x, &self.lift).map_err(failed)? {
            return Ok(Some(vec![found]));
        }
        if self.lift.is_empty() { ordering::run(self, op, x).transpose() } else { Ok(None) }
    }

    /// The results of an operation on tensors.
    fn made(&self, op: &ModuleOperation, x: &[ImportedValue<T>]) -> ModuleRun<Vec<ImportedValue<T>>> {
        let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
        if let Some(found) = scalar(op, x, &self.lift).map_err(failed)? {
            return Ok(vec![found]);
        }
        need(self.lift.is_empty(), || "it is not read in a region of scalars".into()).map_err(failed)?;
        if let Some(found) = shaped::run(op, x).map_err(failed)? {
            return Ok(vec![found]);
        }
        if let Some(found) = indexing::run(op, x).map_err(failed)? {
            return Ok(vec![found]);
        }
        if let Some(found) = matrices::run(op, x).map_err(failed)? {
            return Ok(found);
        }
        for family in [reductions::run::<T>, windows::run::<T>, ordering::run::<T>] {
            if let Some(found) = family(self, op, x) {
                return found;
            }
        }
        Err(failed("an operation that is not read".into()))
    }

    /// The results of a region of scalars, for all elements of arrays of one shape at once.
    pub(super) fn lifted(
        &self,
        block: &RegionBlock,
        args: Vec<ImportedValue<T>>,
        op: &ModuleOperation,
    ) -> ModuleRun<Vec<ImportedValue<T>>> {
        let failed = |what: &str| Failed { at: op.at, operation: op.name.clone(), what: what.into() };
        if args.len() != block.arguments.len() {
            return Err(failed("its region has another number of arguments"));
        }
        let lift = args.first().map(|x| Shape::from_slice(x.shape())).unwrap_or_default();
        let most = highest(block).max(block.arguments.iter().copied().max().unwrap_or(0)) as usize + 1;
        let mut env: Bindings<T> = vec![None; most];
        for (id, item) in &self.captured {
            if let Some(slot) = env.get_mut(*id as usize) {
                *slot = Some(item.clone());
            }
        }
        let inner = Reader { module: self.module, lift: lift.clone(), captured: Vec::new() };
        let results = inner.block(block, args.into_iter().map(Item::Tensor).collect(), &mut env)?;
        let mut all = Vec::new();
        for item in results {
            let held = item.tensor().map_err(|what| failed(&what))?.clone();
            let fits = held.shape().is_empty() || held.shape() == &lift[..];
            if !fits {
                return Err(failed("its region gives an array"));
            }
            all.push(held.replicated(&lift, &[]));
        }
        Ok(all)
    }
}

/// The highest number of a value in a block.
fn highest(block: &RegionBlock) -> SsaValue {
    let of = |op: &ModuleOperation| {
        let operands = op.operands.iter().copied().max().unwrap_or(0);
        let inner = op.regions.iter().map(highest).max().unwrap_or(0);
        operands.max(inner).max(op.first + op.types.len() as SsaValue)
    };
    block.operations.iter().map(of).chain(block.results.iter().copied()).max().unwrap_or(0)
}

/// The element type that the text gives the result.
pub(super) fn result_element(op: &ModuleOperation) -> Imported<Element> {
    match op.types.first() {
        Some(super::types::Type::Tensor { element, .. }) => Ok(*element),
        _ => lacks("a tensor as its result"),
    }
}

/// The shape that the text gives the result.
pub(super) fn result_shape(op: &ModuleOperation) -> Imported<Shape> {
    match op.types.first().and_then(super::types::Type::fixed) {
        Some((shape, _)) => Ok(shape),
        None => lacks("a result of a fixed shape"),
    }
}

/// The comparison of an attribute.
pub(super) fn direction(op: &ModuleOperation) -> Imported<Compare> {
    Ok(match op.words("comparison_direction") {
        Some("EQ") => Compare::Eq,
        Some("NE") => Compare::Ne,
        Some("LT") => Compare::Lt,
        Some("LE") => Compare::Le,
        Some("GT") => Compare::Gt,
        Some("GE") => Compare::Ge,
        _ => return lacks("a direction of comparison"),
    })
}

/// Operations that work in a region of scalars, too: elementwise ones, constants and what changes no element there.
fn scalar<T: BaseTensor>(
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
    lift: &[usize],
) -> Imported<Option<ImportedValue<T>>> {
    match (op.name.as_str(), x) {
        ("constant", []) => {
            let Some(super::attributes::Attribute::Literal(literal)) = op.attribute("value") else {
                return lacks("its elements");
            };
            let element = result_element(op)?;
            let re = T::constant(literal.re.clone());
            let held = ImportedValue { element, re, im: literal.im.clone().map(T::constant), range: literal.range };
            let inside = !lift.is_empty() && held.shape().is_empty();
            return Ok(Some(if inside { held.replicated(lift, &[]) } else { held }));
        }
        ("reshape" | "broadcast_in_dim", [x]) if !lift.is_empty() && result_shape(op)?.is_empty() => {
            return Ok(Some(x.clone()));
        }
        ("convert", [x]) => return Ok(Some(integers::convert(x, result_element(op)?))),
        ("bitcast_convert", [x]) => return bitcast(x, result_element(op)?).map(Some),
        ("reduce_precision", [x]) => return reduced(op, x).map(Some),
        ("real", [x]) => return Ok(Some(ImportedValue::real(x.element.part(), x.re.clone()))),
        ("imag", [x]) => return Ok(Some(ImportedValue::real(x.element.part(), x.imaginary()))),
        ("complex", [re, im]) => {
            same(re, im)?;
            return Ok(Some(ImportedValue::complex(result_element(op)?, (re.re.clone(), im.re.clone()))));
        }
        ("select", [mask, a, b]) => return selected(mask, a, b).map(Some),
        ("clamp", [low, x, high]) => {
            let [low, high] =
                [low, high].map(|y| if y.shape().is_empty() { y.replicated(x.shape(), &[]) } else { y.clone() });
            let above = binary("maximum", &low, x)?;
            let Some(above) = above else { return lacks("numbers") };
            return binary("minimum", &above, &high);
        }
        ("compare", [a, b]) => return compared(op, a, b).map(Some),
        ("chlo.constant_like", [x]) => {
            let c = match op.attribute("value") {
                Some(super::attributes::Attribute::Float(c)) => *c,
                Some(super::attributes::Attribute::Int(n)) => *n as f64,
                _ => return lacks("a number"),
            };
            return Ok(Some(ImportedValue::real(x.element, super::value::like(&x.re, c))));
        }
        ("chlo.next_after", [x, y]) if x.element.is_float() => return next_after(x, y).map(Some),
        (name, [x]) => return unary(name, x),
        (name, [x, y]) => return binary(name, x, y),
        _ => {}
    }
    Ok(None)
}

fn same<T: BaseTensor>(x: &ImportedValue<T>, y: &ImportedValue<T>) -> Imported<()> {
    need(x.shape() == y.shape() && x.element == y.element, || {
        format!(
            "the operands must have one type: they are {} and {}",
            Item::Tensor(x.clone()).words(),
            Item::Tensor(y.clone()).words()
        )
    })
}

fn selected<T: BaseTensor>(
    mask: &ImportedValue<T>,
    a: &ImportedValue<T>,
    b: &ImportedValue<T>,
) -> Imported<ImportedValue<T>> {
    need(mask.element == Element::Bool, || "the first operand must be a mask".into())?;
    same(a, b)?;
    match mask.range {
        Some((1, 1)) => return Ok(a.clone()),
        Some((0, 0)) => return Ok(b.clone()),
        _ => {}
    }
    let mask = if mask.shape().is_empty() { mask.replicated(a.shape(), &[]) } else { mask.clone() };
    need(mask.shape() == a.shape(), || "the mask must have the shape of the other operands".into())?;
    let pick = |x: &T, y: &T| T::select(&mask.re, x, y);
    let im = match (&a.im, &b.im) {
        (Some(x), Some(y)) => Some(pick(x, y)),
        _ => None,
    };
    let (p, q) = (a.bounds(), b.bounds());
    let range = (a.element.is_int() || a.element == Element::Bool).then(|| (p.0.min(q.0), p.1.max(q.1)));
    Ok(ImportedValue { element: a.element, re: pick(&a.re, &b.re), im, range })
}

fn compared<T: BaseTensor>(
    op: &ModuleOperation,
    a: &ImportedValue<T>,
    b: &ImportedValue<T>,
) -> Imported<ImportedValue<T>> {
    same(a, b)?;
    let direction = direction(op)?;
    if let (Some(im), Some(other)) = (&a.im, &b.im) {
        let parts = [(&a.re, &b.re), (im, other)].map(|(x, y)| super::value::compare(direction, x, y));
        let re = match direction {
            Compare::Eq => super::value::and(&parts[0], &parts[1]),
            Compare::Ne => super::value::or(&parts[0], &parts[1]),
            _ => return lacks("numbers that are ordered; complex ones are not"),
        };
        return Ok(ImportedValue::real(Element::Bool, re));
    }
    if op.words("compare_type") == Some("TOTALORDER") && a.element.is_float() {
        return Ok(ImportedValue::real(Element::Bool, elementwise::total_order(direction, &a.re, &b.re)));
    }
    let range = integers::decided(direction, a, b);
    let re = match range {
        Some((n, _)) => super::value::full(a.shape(), crate::dtype::DType::Bool, n),
        None => integers::ordered(direction, a, b),
    };
    Ok(ImportedValue { element: Element::Bool, re, im: None, range })
}

/// A function of one operand; `None` if the name is not known.
pub(super) fn unary<T: BaseTensor>(name: &str, x: &ImportedValue<T>) -> Imported<Option<ImportedValue<T>>> {
    if x.element.is_complex() {
        return elementwise::complex(name, &[x]);
    }
    if !x.element.is_float() {
        if name == "is_finite" {
            return Ok(Some(ImportedValue::whole(Element::Bool, x.shape(), 1)));
        }
        return Ok(integers::unary(name, x));
    }
    if let Some(mask) = elementwise::test(name, &x.re) {
        return Ok(Some(ImportedValue::real(Element::Bool, mask)));
    }
    Ok(elementwise::unary(name, &x.re).map(|re| numbers::rounded(ImportedValue::real(x.element, re))))
}

/// A function of two operands of one type; `None` if the name is not known.
pub(super) fn binary<T: BaseTensor>(
    name: &str,
    x: &ImportedValue<T>,
    y: &ImportedValue<T>,
) -> Imported<Option<ImportedValue<T>>> {
    let known = matches!(
        name,
        "add"
            | "subtract"
            | "multiply"
            | "divide"
            | "remainder"
            | "power"
            | "atan2"
            | "maximum"
            | "minimum"
            | "and"
            | "or"
            | "xor"
            | "shift_left"
            | "shift_right_logical"
            | "shift_right_arithmetic"
            | "chlo.polygamma"
    );
    if !known {
        return Ok(None);
    }
    same(x, y)?;
    if x.element.is_complex() {
        return elementwise::complex(name, &[x, y]);
    }
    if !x.element.is_float() {
        return Ok(integers::binary(name, x, y));
    }
    Ok(elementwise::binary(name, &x.re, &y.re).map(|re| numbers::rounded(ImportedValue::real(x.element, re))))
}

/// The same bits under another type; of another width, the last axis holds the parts of one element, the lowest first.
fn bitcast<T: BaseTensor>(x: &ImportedValue<T>, to: Element) -> Imported<ImportedValue<T>> {
    if x.element == to {
        return Ok(x.clone());
    }
    need(!x.element.is_complex() && !to.is_complex(), || "bits of complex numbers are not read".into())?;
    let (from, into) = (x.element.bits(), to.bits());
    let unsigned = |bits: u32| Element::Int { bits, signed: false };
    let word = if x.element.is_float() {
        ImportedValue::real(unsigned(from), numbers::bits_of_float(&x.re, x.element))
    } else {
        integers::convert(x, unsigned(from))
    };
    let word = match (from, into) {
        _ if from == into => word,
        (2.., 2..) if from < into && into % from == 0 => {
            let parts = (into / from) as usize;
            let [.., last] = *x.shape() else { return lacks("an axis for the parts of an element") };
            need(last == parts, || format!("the last axis must have {parts} parts"))?;
            let rank = x.shape().len() - 1;
            let part = |k: usize| {
                let y = word.re.linear(&crate::ops::Linear::row(x.shape(), rank, k));
                super::value::int_with(IntBinary::Shl, &y, k as i64 * i64::from(from))
            };
            let all = (1..parts).fold(part(0), |all, k| super::value::ints(IntBinary::BitOr, &all, &part(k)));
            ImportedValue::real(unsigned(into), all)
        }
        (2.., 2..) if from % into == 0 => {
            let parts = from / into;
            let shape = [word.shape(), &[1]].concat();
            let part = |k: u32| {
                let y = super::value::int_with(IntBinary::Shr, &word.re, i64::from(k * into));
                let y = ImportedValue::real(unsigned(into), y);
                numbers::wrapped(y, None).reshaped(&shape)
            };
            shaped::concatenated(shape.len() - 1, &(0..parts).map(part).collect::<Vec<_>>())?
        }
        _ => return Err(format!("{} and {to} have widths that do not fit", x.element)),
    };
    Ok(if to.is_float() {
        ImportedValue::real(to, numbers::float_of_bits(&word.re, to))
    } else {
        integers::convert(&word, to)
    })
}

/// The next number of the type, from `x` to `y`.
fn next_after<T: BaseTensor>(x: &ImportedValue<T>, y: &ImportedValue<T>) -> Imported<ImportedValue<T>> {
    same(x, y)?;
    let bits = numbers::bits_of_float(&x.re, x.element);
    let at = |n: i64| super::value::int_like(&bits, n);
    let zero = super::value::like(&x.re, 0.0);
    let less = super::value::compare(Compare::Lt, &x.re, &y.re);
    let negative = super::value::compare(Compare::Lt, &x.re, &zero);
    // Away from zero the bits grow.
    let grows = super::value::compare(Compare::Ne, &less, &negative);
    let step = T::select(&grows, &at(1), &at(-1));
    let next = super::value::ints(IntBinary::Add, &bits, &step);
    let sign = 1i64.wrapping_shl(x.element.bits() - 1);
    let none = super::value::compare(Compare::Eq, &x.re, &zero);
    let least = T::select(&less, &at(1), &at(sign | 1));
    let next = numbers::float_of_bits(&T::select(&none, &least, &next), x.element);
    let same = super::value::compare(Compare::Eq, &x.re, &y.re);
    let found = T::select(&same, &y.re, &next);
    let nan = numbers::either_nan(&x.re, &y.re);
    Ok(ImportedValue::real(x.element, T::select(&nan, &x.re.binary(Binary::Add, &y.re), &found)))
}

/// Floats with fewer digits and exponents.
fn reduced<T: BaseTensor>(op: &ModuleOperation, x: &ImportedValue<T>) -> Imported<ImportedValue<T>> {
    need(x.element.is_float(), || "the operand must be floats".into())?;
    let (exponent, digits) = match op.words("format") {
        Some(format) => {
            let split = format.strip_prefix('e').and_then(|rest| rest.split_once('m'));
            let Some((e, m)) = split else { return lacks("a format, such as e5m2") };
            (e.parse().ok(), m.parse().ok())
        }
        None => (op.int("exponent_bits"), op.int("mantissa_bits")),
    };
    let (Some(e), Some(m)) = (exponent, digits) else { return lacks("numbers of bits") };
    need((1..=11).contains(&e) && (0..=52).contains(&m), || "it needs at most 11 and 52 bits".into())?;
    let own = match x.element {
        Element::F64 => (11, 52),
        Element::F32 => (8, 23),
        Element::BF16 => (8, 7),
        _ => (5, 10),
    };
    if e >= own.0 && m >= own.1 {
        return Ok(x.clone());
    }
    need(x.element != Element::F64, || "floats of 64 bits are not reduced".into())?;
    let bias = (1i32 << (e.min(own.0) - 1)) - 1;
    let digits = m.min(own.1) as i32 + 1;
    let infinite = 2f64.powi(bias + 1) - 2f64.powi(bias - digits);
    let found = numbers::to_digits(&x.re, digits, 1 - bias, infinite);
    // Numbers below the smallest normal one become zeros.
    let tiny = super::value::compare(
        Compare::Lt,
        &found.unary(crate::ops::Unary::Abs),
        &super::value::like(&found, 2f64.powi(1 - bias)),
    );
    let zero = super::value::like(&found, 0.0).binary(Binary::Copysign, &x.re);
    Ok(ImportedValue::real(x.element, T::select(&tiny, &zero, &found)))
}
