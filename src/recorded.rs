//! Numbers that stand for values of a text: what is done to them is recorded.
//!
//! So a definition of `polygrad-math` is written as source code, or as a part of an exported program.
//!
//! Law: an operation on known values is computed, to the same bits; any other one is given to the [`NumberRecorder`].

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use polygrad_math::{
    Arithmetic, Definition, Format, Fused, Library, Machine, Mask, Number, ProductError, WideWord, Word, special,
    threefry_of,
};

/// A type of values: floats, the words of their bits, and truth values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberKind {
    F64,
    F32,
    U64,
    U32,
    Bool,
}

/// A known value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum KnownNumber {
    F64(f64),
    F32(f32),
    U64(u64),
    U32(u32),
    Bool(bool),
}

/// An operand of an operation: known, or a recorded value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NumberOperand {
    Known(KnownNumber),
    Of(u32),
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(not(feature = "emission"), allow(dead_code, reason = "an exported program has no fused operation"))]
pub(crate) enum NumberOp {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    And,
    Or,
    Xor,
    Not,
    Shl(u32),
    Shr(u32),
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    NotEqual,
    Abs,
    Copysign,
    Sqrt,
    Floor,
    Ceil,
    Round,
    /// `a b + c`; whether it may be rounded once.
    MultiplyAdd(bool),
    /// What rounding lost in a product, by fused multiply-add where the machine has it.
    ProductError,
    /// Conversions between float types, and of words to those of another size.
    Wide,
    Narrow,
    /// The bits of a float, and the float with these bits.
    Bits,
    OfBits,
    /// The second operand where the first, a truth value, holds, and elsewhere the third.
    Select,
    Library(Library),
}

/// The name of a definition: see [`Definition`].
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "emission"), allow(dead_code, reason = "an exported program has no functions"))]
pub(crate) struct DefinitionName {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
    pub(crate) fused: bool,
    pub(crate) kind: NumberKind,
}

/// What writes the text. Values, and branches that are recorded, have numbers.
pub(crate) trait NumberRecorder {
    /// The result of an operation on operands of one kind; of a choice, the kind is that of the results.
    fn op(&self, op: NumberOp, kind: NumberKind, x: &[NumberOperand]) -> u32;
    /// Begins a branch that is taken where a truth value holds, or where not.
    fn begin(&self, mask: u32, holds: bool);
    /// Ends the branch that began last.
    fn end(&self, result: NumberOperand) -> u32;
    /// The result of the branch that is taken.
    fn join(&self, mask: u32, kind: NumberKind, branches: [u32; 2]) -> u32;
    /// The last state of a loop, given the first one, whether there is another step, and the next state.
    fn repeat(
        &self,
        kind: NumberKind,
        start: &[NumberOperand],
        holds: &dyn Fn(&[u32]) -> NumberOperand,
        step: &dyn Fn(&[u32]) -> Vec<NumberOperand>,
    ) -> Vec<u32>;
    /// A call of a function, given its body; `None` if the body is to be written in place.
    fn call(&self, name: DefinitionName, x: &[NumberOperand], body: &dyn Fn(&[u32]) -> NumberOperand) -> Option<u32>;
}

/// A value: known, or recorded.
///
/// Its operations are not inlined, and there is one type for all recorders: definitions are long, and recorded rarely.
#[derive(Clone, Copy)]
pub(crate) enum RecordedNumber<'r, T> {
    Known(T),
    Of(&'r dyn NumberRecorder, u32),
}

use RecordedNumber::{Known, Of};

/// A type whose values are recorded.
pub(crate) trait RecordedKind: Copy + 'static {
    const KIND: NumberKind;
    fn known(self) -> KnownNumber;
}

macro_rules! kinds {
    ($($T:ident $Kind:ident;)*) => { $(
        impl RecordedKind for $T {
            const KIND: NumberKind = NumberKind::$Kind;
            fn known(self) -> KnownNumber {
                KnownNumber::$Kind(self)
            }
        }
    )* };
}

kinds! {
    f64 F64;
    f32 F32;
    u64 U64;
    u32 U32;
    bool Bool;
}

impl<'r, T: RecordedKind> RecordedNumber<'r, T> {
    #[inline(never)]
    pub(crate) fn operand(self) -> NumberOperand {
        match self {
            Known(x) => NumberOperand::Known(x.known()),
            Of(_, id) => NumberOperand::Of(id),
        }
    }

    fn recorder(self) -> Option<&'r dyn NumberRecorder> {
        match self {
            Known(_) => None,
            Of(recorder, _) => Some(recorder),
        }
    }

    /// Records an operation on values of this type that are not all known.
    fn op<Y>(op: NumberOp, x: &[Self]) -> RecordedNumber<'r, Y> {
        let recorder = x.iter().find_map(|x| x.recorder()).expect("an operation on known values is computed");
        let operands: Vec<NumberOperand> = x.iter().map(|x| x.operand()).collect();
        Of(recorder, recorder.op(op, T::KIND, &operands))
    }

    fn map<Y>(self, op: NumberOp, known: impl FnOnce(T) -> Y) -> RecordedNumber<'r, Y> {
        match self {
            Known(x) => Known(known(x)),
            Of(..) => Self::op(op, &[self]),
        }
    }

    fn zip<Y>(self, other: Self, op: NumberOp, known: impl FnOnce(T, T) -> Y) -> RecordedNumber<'r, Y> {
        match (self, other) {
            (Known(x), Known(y)) => Known(known(x, y)),
            (Of(..), _) | (_, Of(..)) => Self::op(op, &[self, other]),
        }
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident $Op:ident;)*) => { $(
        impl<'r, T: RecordedKind + $Trait<Output = T>> $Trait for RecordedNumber<'r, T> {
            type Output = RecordedNumber<'r, T>;
            #[inline(never)]
            fn $method(self, other: RecordedNumber<'r, T>) -> RecordedNumber<'r, T> {
                self.zip(other, NumberOp::$Op, T::$method)
            }
        }
    )* };
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

macro_rules! operators_of_one {
    ($($Trait:ident $(<$By:ident>)? $method:ident($($by:ident)?) $op:expr;)*) => { $(
        impl<'r, T: RecordedKind + $Trait<$($By,)? Output = T>> $Trait $(<$By>)? for RecordedNumber<'r, T> {
            type Output = RecordedNumber<'r, T>;
            #[inline(never)]
            fn $method(self $(, $by: $By)?) -> RecordedNumber<'r, T> {
                self.map($op, |x| x.$method($($by)?))
            }
        }
    )* };
}

operators_of_one! {
    Neg neg() NumberOp::Neg;
    Not not() NumberOp::Not;
    Shl<u32> shl(by) NumberOp::Shl(by);
    Shr<u32> shr(by) NumberOp::Shr(by);
}

impl Mask for RecordedNumber<'_, bool> {}

impl<T: RecordedKind + Word> Word for RecordedNumber<'_, T> {
    fn literal(x: u64) -> Self {
        Known(T::literal(x))
    }
    #[inline(never)]
    fn plus(self, other: Self) -> Self {
        self.zip(other, NumberOp::Add, T::plus)
    }
    #[inline(never)]
    fn minus(self, other: Self) -> Self {
        self.zip(other, NumberOp::Sub, T::minus)
    }
}

impl<'r> WideWord for RecordedNumber<'r, u64> {
    type Half = RecordedNumber<'r, u32>;
    fn halves(self) -> [Self::Half; 2] {
        [self >> 32, self].map(|x| x.map(NumberOp::Narrow, |x| x as u32))
    }
    fn of_halves(halves: [Self::Half; 2]) -> Self {
        let [upper, lower] = halves.map(|x| x.map(NumberOp::Wide, u64::from));
        (upper << 32) | lower
    }
}

/// A choice that is recorded.
pub(crate) struct RecordedBranch<'r> {
    recorder: &'r dyn NumberRecorder,
    mask: u32,
    first: u32,
}

/// Declares methods that are one operation each.
macro_rules! methods {
    ($($method:ident($($other:ident)?) -> $Y:ty = $op:expr;)*) => { $(
        methods! { @ $method($($other)?) -> $Y = $op }
    )* };
    (@ $method:ident() -> $Y:ty = $op:expr) => {
        #[inline(never)]
        fn $method(self) -> $Y {
            self.map($op, T::$method)
        }
    };
    (@ $method:ident($other:ident) -> $Y:ty = $op:expr) => {
        #[inline(never)]
        fn $method(self, $other: Self) -> $Y {
            self.zip($other, $op, T::$method)
        }
    };
}

impl<'r, T: RecordedKind + Format<Word: RecordedKind>> Arithmetic for RecordedNumber<'r, T> {
    type Mask = RecordedNumber<'r, bool>;

    methods! {
        magnitude() -> Self = NumberOp::Abs;
        root() -> Self = NumberOp::Sqrt;
        below(other) -> Self::Mask = NumberOp::Less;
        at_most(other) -> Self::Mask = NumberOp::AtMost;
        above(other) -> Self::Mask = NumberOp::Greater;
        at_least(other) -> Self::Mask = NumberOp::AtLeast;
        equals(other) -> Self::Mask = NumberOp::Equal;
    }

    fn literal(x: f64) -> Self {
        Known(<T as Arithmetic>::literal(x))
    }
    #[inline(never)]
    fn is_not_a_number(self) -> Self::Mask {
        self.zip(self, NumberOp::NotEqual, |x, _| x.is_not_a_number())
    }
    #[inline(never)]
    fn product_error<M: Machine>(a: Self, b: Self, product: Self) -> Self {
        if M::FMA {
            Self::op(NumberOp::ProductError, &[a, b, product])
        } else {
            Self::function::<ProductError, 3>([a, b, product])
        }
    }
    #[inline(never)]
    fn select(mask: Self::Mask, x: Self, y: Self) -> Self {
        match mask {
            Known(mask) => {
                if mask {
                    x
                } else {
                    y
                }
            }
            Of(recorder, _) => {
                Of(recorder, recorder.op(NumberOp::Select, T::KIND, &[mask.operand(), x.operand(), y.operand()]))
            }
        }
    }
}

impl<'r, T: RecordedKind + Format<Word: RecordedKind>> Number for RecordedNumber<'r, T> {
    type Float = T;
    type Word = RecordedNumber<'r, T::Word>;
    type Wide = RecordedNumber<'r, f64>;
    type Branch = RecordedBranch<'r>;

    methods! {
        signed_like(sign) -> Self = NumberOp::Copysign;
        floor_of() -> Self = NumberOp::Floor;
        ceil_of() -> Self = NumberOp::Ceil;
        round_of() -> Self = NumberOp::Round;
        word() -> Self::Word = NumberOp::Bits;
    }

    fn constant(x: T) -> Self {
        Known(x)
    }
    #[inline(never)]
    fn wide(self) -> Self::Wide {
        if let (NumberKind::F64, Of(recorder, id)) = (T::KIND, self) {
            return Of(recorder, id);
        }
        self.map(NumberOp::Wide, T::wide)
    }
    #[inline(never)]
    fn narrow(x: Self::Wide) -> Self {
        if let (NumberKind::F64, Of(recorder, id)) = (T::KIND, x) {
            return Of(recorder, id);
        }
        x.map(NumberOp::Narrow, T::narrow)
    }
    #[inline(never)]
    fn of_word(bits: Self::Word) -> Self {
        bits.map(NumberOp::OfBits, T::of_word)
    }
    #[inline(never)]
    fn multiply_add<M: Machine>(a: Self, b: Self, c: Self) -> Self {
        Self::op(NumberOp::MultiplyAdd(M::FMA), &[a, b, c])
    }
    fn by_library<const N: usize>(function: Library, x: [Self::Wide; N]) -> Self::Wide {
        RecordedNumber::op(NumberOp::Library(function), &x)
    }

    fn choose(mask: Self::Mask, x: impl FnOnce() -> Self, y: impl FnOnce() -> Self) -> Self {
        match mask {
            Known(mask) => {
                if mask {
                    x()
                } else {
                    y()
                }
            }
            Of(..) => {
                let branch = Self::branch(mask);
                let branch = Self::otherwise(branch, x());
                Self::join(branch, y())
            }
        }
    }
    #[inline(never)]
    fn branch(mask: Self::Mask) -> Self::Branch {
        let Of(recorder, mask) = mask else { unreachable!("a known truth value makes no branch") };
        recorder.begin(mask, true);
        RecordedBranch { recorder, mask, first: 0 }
    }
    #[inline(never)]
    fn otherwise(branch: Self::Branch, x: Self) -> Self::Branch {
        let first = branch.recorder.end(x.operand());
        branch.recorder.begin(branch.mask, false);
        RecordedBranch { first, ..branch }
    }
    #[inline(never)]
    fn join(RecordedBranch { recorder, mask, first }: Self::Branch, y: Self) -> Self {
        let second = recorder.end(y.operand());
        Of(recorder, recorder.join(mask, T::KIND, [first, second]))
    }
    fn repeat<const N: usize>(
        state: [Self; N],
        holds: impl Fn([Self; N]) -> Self::Mask,
        step: impl Fn([Self; N]) -> [Self; N],
    ) -> [Self; N] {
        let recorder = state.iter().find_map(|x| x.recorder()).expect("a loop begins with a value that is not known");
        let of = |ids: &[u32]| std::array::from_fn(|k| Of(recorder, ids[k]));
        let holds = |ids: &[u32]| holds(of(ids)).operand();
        let step = |ids: &[u32]| step(of(ids)).map(RecordedNumber::operand).to_vec();
        of(&recorder.repeat(T::KIND, &state.map(RecordedNumber::operand), &holds, &step))
    }
    #[inline(never)]
    fn function<D: Definition<Self, N>, const N: usize>(x: [Self; N]) -> Self {
        let Some(recorder) = x.iter().find_map(|x| x.recorder()) else { return D::of(x) };
        let name = DefinitionName { name: D::NAME, says: D::SAYS, fused: D::FUSED, kind: T::KIND };
        let body = |ids: &[u32]| D::of(std::array::from_fn(|k| Of(recorder, ids[k]))).operand();
        recorder.call(name, &x.map(RecordedNumber::operand), &body).map_or_else(|| D::of(x), |id| Of(recorder, id))
    }
}

/// A block of random bits under a key: the call of a function, or the block in place.
pub(crate) fn threefry(recorder: &dyn NumberRecorder, [key, counter]: [u32; 2]) -> NumberOperand {
    let says = "A block of random bits under a key.";
    let name = DefinitionName { name: "threefry", says, fused: true, kind: NumberKind::U64 };
    let word = |id: u32| RecordedNumber::<'_, u64>::Of(recorder, id);
    let body = |ids: &[u32]| threefry_of(word(ids[0]), word(ids[1])).operand();
    let operands = [key, counter].map(NumberOperand::Of);
    recorder.call(name, &operands, &body).map_or_else(|| body(&[key, counter]), NumberOperand::Of)
}

/// `e^(-x^2)` without a split product.
pub(crate) fn gaussian(recorder: &dyn NumberRecorder, x: u32) -> NumberOperand {
    special::gaussian(RecordedNumber::<'_, f64>::Of(recorder, x)).operand()
}

/// The function of `polygrad-math` with this name, of recorded arguments; `None` for another name.
pub(crate) fn defined(
    recorder: &dyn NumberRecorder,
    name: &str,
    kind: NumberKind,
    argument: &mut dyn FnMut() -> u32,
) -> Option<NumberOperand> {
    use polygrad_math::scalar::by_name;
    if kind == NumberKind::F32 {
        by_name::<RecordedNumber<'_, f32>, Fused>(name, || Of(recorder, argument())).map(RecordedNumber::operand)
    } else {
        by_name::<RecordedNumber<'_, f64>, Fused>(name, || Of(recorder, argument())).map(RecordedNumber::operand)
    }
}
