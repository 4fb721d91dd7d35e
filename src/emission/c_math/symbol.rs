//! Numbers, truth values and words that stand for expressions in C: what is done to them is recorded.
//!
//! Law: an operation on known values is computed, to the same bits; any other is one operation in C.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use polygrad_math::{Definition, Format, Library, Machine, Number, Word};

use super::PREFIX;
use super::function::{Block, Body, CType, CValue, Operand, Repeat, parameter};

/// The functions that are recorded.
#[derive(Default)]
pub(super) struct Recorder {
    /// The finished ones, each after those that it calls: name, comment and text.
    done: RefCell<Vec<(String, &'static str, String)>>,
    /// Those that are recorded now, each called by the one before, with their names.
    open: RefCell<Vec<(String, Body)>>,
}

/// A value of C: known, or the result of a recorded operation.
#[derive(Clone, Copy)]
pub(super) enum Symbol<'r, T> {
    Known(T),
    Of(&'r Recorder, u32),
}

use Symbol::{Known, Of};

/// A type of C, with the operators of its values.
pub(super) trait Kind: Copy + PartialEq + 'static {
    const TYPE: CType;
    const AND: &'static str = "&";
    const OR: &'static str = "|";
    const NOT: &'static str = "~";
    /// What ends the names of functions.
    const SUFFIX: &'static str = "";
    fn literal(self) -> String;
}

/// A float as text.
fn float(text: String, is_single: bool) -> String {
    match (&text[..], is_single) {
        ("NaN", true) => "NAN".into(),
        ("NaN", false) => "(double)NAN".into(),
        ("inf", true) => "HUGE_VALF".into(),
        ("inf", false) => "HUGE_VAL".into(),
        ("-inf", true) => "-HUGE_VALF".into(),
        ("-inf", false) => "-HUGE_VAL".into(),
        (_, true) => text + "f",
        (_, false) => text,
    }
}

impl Kind for f64 {
    const TYPE: CType = CType::Double;
    fn literal(self) -> String {
        float(format!("{self:?}"), false)
    }
}

impl Kind for f32 {
    const TYPE: CType = CType::Float;
    const SUFFIX: &'static str = "f";
    fn literal(self) -> String {
        float(format!("{self:?}"), true)
    }
}

impl Kind for u64 {
    const TYPE: CType = CType::Word;
    fn literal(self) -> String {
        if self < 10_000 { format!("UINT64_C({self})") } else { format!("UINT64_C({self:#x})") }
    }
}

impl Kind for u32 {
    const TYPE: CType = CType::ShortWord;
    const SUFFIX: &'static str = "f";
    fn literal(self) -> String {
        if self < 10_000 { format!("UINT32_C({self})") } else { format!("UINT32_C({self:#x})") }
    }
}

impl Kind for bool {
    const TYPE: CType = CType::Truth;
    const AND: &'static str = "&&";
    const OR: &'static str = "||";
    const NOT: &'static str = "!";
    fn literal(self) -> String {
        u8::from(self).to_string()
    }
}

impl Recorder {
    /// The function that is recorded now.
    fn body<R>(&self, f: impl FnOnce(&mut Body) -> R) -> R {
        let mut open = self.open.borrow_mut();
        if open.is_empty() {
            open.push((String::new(), Body::default()));
        }
        f(&mut open.last_mut().expect("a function is open").1)
    }

    /// The result of an operation.
    fn value<T: Kind>(&self, value: CValue) -> Symbol<'_, T> {
        Of(self, self.body(|body| body.push(T::TYPE, value)))
    }

    /// An argument of a call of a function that is asked for.
    pub(super) fn argument<T: Kind>(&self) -> Symbol<'_, T> {
        self.value(CValue::Parameter(0))
    }

    /// The names and the texts of the finished functions, each after those that it calls.
    pub(super) fn functions(&self) -> Vec<(String, String)> {
        let commented = |says: &str| match says.trim() {
            "" => String::new(),
            says => format!("/* {} */\n", says.replace('`', "")),
        };
        self.done.borrow().iter().map(|(name, says, text)| (name.clone(), commented(says) + text)).collect()
    }

    /// What statements in a block of their own give.
    fn block<'r, T: Kind>(&self, f: impl FnOnce() -> Symbol<'r, T>) -> (Block, Operand) {
        let before = self.body(Body::enter);
        let result = f().operand();
        (self.body(|body| body.leave(before)), result)
    }

    /// Records a function, unless it is recorded already. Its text is that of its first recording.
    fn define<'r, T: Kind, const N: usize>(
        &'r self,
        name: &str,
        says: &'static str,
        body: impl FnOnce([Symbol<'r, T>; N]) -> Symbol<'r, T>,
    ) {
        if let Some((_, known, _)) = self.done.borrow_mut().iter_mut().find(|(done, ..)| done == name) {
            if known.is_empty() {
                *known = says;
            }
            return;
        }
        self.open.borrow_mut().push((name.into(), Body::default()));
        let mut place = 0..;
        let x = [(); N].map(|()| self.value(CValue::Parameter(place.next().unwrap_or_default())));
        let result = body(x).operand();
        let (name, body) = self.open.borrow_mut().pop().expect("the function is open");
        let parameters: Vec<String> = (0..N).map(|k| format!("{} {}", T::TYPE.name(), parameter(k))).collect();
        let head = format!("static inline {} {name}({}) {{\n", T::TYPE.name(), parameters.join(", "));
        self.done.borrow_mut().push((name, says, head + &body.text(&result) + "}"));
    }
}

impl<'r, T: Kind> Symbol<'r, T> {
    fn operand(self) -> Operand {
        match self {
            Known(x) => Operand::Literal(x.literal()),
            Of(_, id) => Operand::Value(id),
        }
    }

    fn recorder(self) -> Option<&'r Recorder> {
        match self {
            Known(_) => None,
            Of(recorder, _) => Some(recorder),
        }
    }

    /// An operator between two values, with a result of another type.
    fn compared<R: Kind>(self, other: Self, operator: &'static str, known: impl Fn(T, T) -> R) -> Symbol<'r, R> {
        match (self, other) {
            (Known(x), Known(y)) => Known(known(x, y)),
            (Of(recorder, _), _) | (_, Of(recorder, _)) => {
                recorder.value(CValue::Infix(operator, [self.operand(), other.operand()]))
            }
        }
    }

    fn infix(self, other: Self, operator: &'static str, known: impl Fn(T, T) -> T) -> Self {
        self.compared(other, operator, known)
    }

    fn prefix<R: Kind>(self, operator: &'static str, known: impl Fn(T) -> R) -> Symbol<'r, R> {
        match self {
            Known(x) => Known(known(x)),
            Of(recorder, _) => recorder.value(CValue::Prefix(operator, self.operand())),
        }
    }

    /// A call of a function of one value, whose name is that of C.
    fn call<R: Kind>(self, name: String, known: impl Fn(T) -> R) -> Symbol<'r, R> {
        match self {
            Known(x) => Known(known(x)),
            Of(recorder, _) => recorder.value(CValue::Call(name, vec![self.operand()])),
        }
    }

    /// A call with a result of the type of the arguments; one of them is not known.
    fn call_all<const N: usize>(name: String, x: [Self; N]) -> Self {
        let recorder = x.iter().find_map(|x| x.recorder()).expect("a call of known values is computed");
        recorder.value(CValue::Call(name, x.iter().map(|x| x.operand()).collect()))
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident $text:expr;)*) => { $(
        impl<'r, T: Kind + $Trait<Output = T>> $Trait for Symbol<'r, T> {
            type Output = Symbol<'r, T>;
            fn $method(self, other: Symbol<'r, T>) -> Symbol<'r, T> {
                self.infix(other, $text, T::$method)
            }
        }
    )* };
}

operators! {
    Add add "+";
    Sub sub "-";
    Mul mul "*";
    Div div "/";
    BitAnd bitand T::AND;
    BitOr bitor T::OR;
    BitXor bitxor "^";
}

impl<'r, T: Kind + Neg<Output = T>> Neg for Symbol<'r, T> {
    type Output = Symbol<'r, T>;
    fn neg(self) -> Symbol<'r, T> {
        self.prefix("-", T::neg)
    }
}

impl<'r, T: Kind + Not<Output = T>> Not for Symbol<'r, T> {
    type Output = Symbol<'r, T>;
    fn not(self) -> Symbol<'r, T> {
        self.prefix(T::NOT, T::not)
    }
}

macro_rules! shifts {
    ($($Trait:ident $method:ident $text:literal;)*) => { $(
        impl<'r, T: Kind + $Trait<u32, Output = T>> $Trait<u32> for Symbol<'r, T> {
            type Output = Symbol<'r, T>;
            fn $method(self, by: u32) -> Symbol<'r, T> {
                match self {
                    Known(x) => Known(x.$method(by)),
                    Of(recorder, _) => {
                        recorder.value(CValue::Infix($text, [self.operand(), Operand::Literal(by.to_string())]))
                    }
                }
            }
        }
    )* };
}

shifts! {
    Shl shl "<<";
    Shr shr ">>";
}

impl polygrad_math::Mask for Symbol<'_, bool> {}

impl<T: Kind + Word> Word for Symbol<'_, T> {
    fn literal(x: u64) -> Self {
        Known(<T as Word>::literal(x))
    }
    fn plus(self, other: Self) -> Self {
        self.infix(other, "+", T::plus)
    }
    fn minus(self, other: Self) -> Self {
        self.infix(other, "-", T::minus)
    }
}

/// A choice that is recorded: the mask, the statements around it, and what is recorded of the first result.
pub(super) struct Branch<'r> {
    mask: Symbol<'r, bool>,
    around: Option<Block>,
    first: Option<(Block, Operand)>,
}

/// The name of an operation of a machine.
fn of_machine<T: Kind, M: Machine>(name: &str) -> String {
    format!("{PREFIX}{name}{}{}", T::SUFFIX, if M::FMA { "" } else { "_unfused" })
}

impl<'r, T: Kind + Format<Word: Kind>> Number for Symbol<'r, T> {
    type Float = T;
    type Mask = Symbol<'r, bool>;
    type Word = Symbol<'r, T::Word>;
    type Wide = Symbol<'r, f64>;
    type Branch = Branch<'r>;

    fn constant(x: T) -> Self {
        Known(x)
    }
    fn literal(x: f64) -> Self {
        Known(<T as Number>::literal(x))
    }
    fn wide(self) -> Symbol<'r, f64> {
        match self {
            Of(recorder, id) if T::TYPE == f64::TYPE => Of(recorder, id),
            x => x.prefix("(double)", T::wide),
        }
    }
    fn narrow(x: Symbol<'r, f64>) -> Self {
        match x {
            Of(recorder, id) if T::TYPE == f64::TYPE => Of(recorder, id),
            x => x.prefix("(float)", T::narrow),
        }
    }

    fn magnitude(self) -> Self {
        self.call(format!("fabs{}", T::SUFFIX), T::magnitude)
    }
    fn signed_like(self, sign: Self) -> Self {
        match (self, sign) {
            (Known(x), Known(y)) => Known(x.signed_like(y)),
            _ => Symbol::call_all(format!("copysign{}", T::SUFFIX), [self, sign]),
        }
    }
    fn root(self) -> Self {
        self.call(format!("sqrt{}", T::SUFFIX), T::root)
    }
    fn floor_of(self) -> Self {
        self.call(format!("floor{}", T::SUFFIX), T::floor_of)
    }
    fn ceil_of(self) -> Self {
        self.call(format!("ceil{}", T::SUFFIX), T::ceil_of)
    }
    fn round_of(self) -> Self {
        self.call(format!("round{}", T::SUFFIX), T::round_of)
    }
    fn integer_part(self) -> Self {
        let cast = if T::TYPE == f64::TYPE { "(double)(int64_t)" } else { "(float)(int64_t)" };
        self.prefix(cast, T::integer_part)
    }
    fn multiply_add<M: Machine>(a: Self, b: Self, c: Self) -> Self {
        Symbol::call_all(of_machine::<T, M>("madd"), [a, b, c])
    }
    fn product_error<M: Machine>(a: Self, b: Self, product: Self) -> Self {
        Symbol::call_all(of_machine::<T, M>("product_error"), [a, b, product])
    }
    fn by_library<const N: usize>(function: Library, x: [Symbol<'r, f64>; N]) -> Symbol<'r, f64> {
        let has_steps = matches!(function, Library::LnOfLibm | Library::Erfc | Library::Lgamma);
        let prefix = if has_steps { "polygrad_fdlibm_" } else { "" };
        let name = if function == Library::Ln { "log" } else { function.name() };
        Symbol::call_all(format!("{prefix}{name}"), x)
    }

    fn below(self, other: Self) -> Symbol<'r, bool> {
        self.compared(other, "<", T::below)
    }
    fn at_most(self, other: Self) -> Symbol<'r, bool> {
        self.compared(other, "<=", T::at_most)
    }
    fn above(self, other: Self) -> Symbol<'r, bool> {
        self.compared(other, ">", T::above)
    }
    fn at_least(self, other: Self) -> Symbol<'r, bool> {
        self.compared(other, ">=", T::at_least)
    }
    fn equals(self, other: Self) -> Symbol<'r, bool> {
        self.compared(other, "==", T::equals)
    }
    fn is_not_a_number(self) -> Symbol<'r, bool> {
        self.compared(self, "!=", |x, _| x.is_not_a_number())
    }

    fn select(mask: Symbol<'r, bool>, x: Self, y: Self) -> Self {
        match mask {
            Known(true) => x,
            Known(false) => y,
            Of(recorder, _) => recorder.value(CValue::Select([mask.operand(), x.operand(), y.operand()])),
        }
    }
    fn choose(mask: Symbol<'r, bool>, x: impl FnOnce() -> Self, y: impl FnOnce() -> Self) -> Self {
        match mask {
            Known(true) => x(),
            Known(false) => y(),
            Of(recorder, _) => {
                let branches = [recorder.block(x), recorder.block(y)];
                recorder.value(CValue::Choose(mask.operand(), Box::new(branches)))
            }
        }
    }
    fn branch(mask: Symbol<'r, bool>) -> Branch<'r> {
        Branch { mask, around: mask.recorder().map(|recorder| recorder.body(Body::enter)), first: None }
    }
    fn otherwise(branch: Branch<'r>, x: Self) -> Branch<'r> {
        let first = branch.mask.recorder().map(|recorder| (recorder.body(Body::next), x.operand()));
        Branch { first, ..branch }
    }
    fn join(Branch { mask, around, first }: Branch<'r>, y: Self) -> Self {
        let (Some(recorder), Some(around), Some(first)) = (mask.recorder(), around, first) else {
            unreachable!("a mask that is known makes no branch");
        };
        let second = (recorder.body(|body| body.leave(around)), y.operand());
        recorder.value(CValue::Choose(mask.operand(), Box::new([first, second])))
    }
    fn repeat<const N: usize>(
        state: [Self; N],
        holds: impl Fn([Self; N]) -> Symbol<'r, bool>,
        step: impl Fn([Self; N]) -> [Self; N],
    ) -> [Self; N] {
        let recorder = state.iter().find_map(|x| x.recorder()).expect("a loop begins with an unknown value");
        let start = state.map(|x| recorder.value(CValue::State(x.operand())));
        let test = recorder.block(|| holds(start));
        let mut next = Vec::new();
        let (step, _) = recorder.block(|| {
            next = step(start).map(Symbol::operand).to_vec();
            Known(true)
        });
        let ids = start.iter().filter_map(|x| if let Of(_, id) = x { Some(*id) } else { None }).collect();
        recorder.body(|body| body.repeat(Repeat { state: ids, test, step, next }));
        start
    }
    fn function<D: Definition<Self, N>, const N: usize>(x: [Self; N]) -> Self {
        let full = format!("{PREFIX}{}{}{}", D::NAME, T::SUFFIX, if D::FUSED { "" } else { "_unfused" });
        let Some(recorder) = x.iter().find_map(|x| x.recorder()) else { return D::of(x) };
        // A function whose body is a function with its own name.
        if recorder.open.borrow().last().is_some_and(|(open, _)| *open == full) {
            return D::of(x);
        }
        recorder.define(&full, D::SAYS, D::of);
        Symbol::call_all(full, x)
    }

    fn word(self) -> Symbol<'r, T::Word> {
        self.call(format!("{PREFIX}bits{}", T::SUFFIX), T::word)
    }
    fn of_word(bits: Symbol<'r, T::Word>) -> Self {
        bits.call(format!("{PREFIX}from_bits{}", T::SUFFIX), T::of_word)
    }
}
