//! Dispatch of kernels to the instruction set of the processor.
//!
//! A kernel is compiled once for the build target, and again for each better instruction set from which it gains:
//!
//! | instruction set | which kernels are compiled for it |
//! |---|---|
//! | that of the build target | all, except for those that [`dispatch_fused`] runs; on a machine that is [lean](Machine::LEAN), with fewer forms |
//! | AVX2 with fused multiply-add | all, unless the target has it |
//! | AVX-512 | those that are [`Kernel::WIDE`], with the feature `avx512` all, unless the target has it |
//!
//! Functions that are compiled for an instruction set are called here alone, except for those that register code
//! (`backend/register`) calls by address, which need [`Isa::has_fma`].
//!
//! Law: a value of [`Isa`] above that of the target exists only if the processor has the features, since
//! [`Isa::supported`] alone constructs such values. So the unsafe calls of [`dispatch`] are sound.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use polygrad_math::Machine as _;
pub(crate) use polygrad_math::{Fused, WithoutFma};

use crate::dtype::Num;

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Isa(Level);

/// From the lowest to the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// The features of the build target: by default, SSE2 on x86-64.
    Target,
    /// AVX2 and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with its double-word, byte and short-vector extensions.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The machine of the build target.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2", target_feature = "fma")))]
type Target = WithoutFma;
/// The machine of the build target: no kernel is compiled for less.
#[cfg(all(
    all(target_arch = "x86_64", target_feature = "avx2", target_feature = "fma"),
    not(all(
        target_feature = "avx512f",
        target_feature = "avx512dq",
        target_feature = "avx512vl",
        target_feature = "avx512bw"
    ))
))]
type Target = Fused;
/// The machine of the build target: no kernel is compiled for less.
#[cfg(all(
    target_arch = "x86_64",
    target_feature = "avx512f",
    target_feature = "avx512dq",
    target_feature = "avx512vl",
    target_feature = "avx512bw"
))]
type Target = Wide;

impl Isa {
    /// The features of the build target, which every processor that runs the program has.
    pub(crate) const BASELINE: Isa = Isa(Level::Target);

    /// The instruction sets of this processor, from the baseline to the best.
    pub(crate) fn supported() -> Vec<Isa> {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut found = vec![Isa::BASELINE];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            if !Target::FMA {
                found.push(Isa(Level::Avx2));
            }
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
            let whole = wide && is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512bw");
            if whole && !Target::WIDE {
                found.push(Isa(Level::Avx512));
            }
        }
        found
    }

    /// The best instruction set, or the one that the environment variable `POLYGRAD_ISA` names (`baseline`, `avx2`,
    /// `avx512`) if the processor has it; chosen once per process.
    pub(crate) fn detect() -> Isa {
        static CHOSEN: OnceLock<Isa> = OnceLock::new();
        *CHOSEN.get_or_init(|| {
            let found = Isa::supported();
            let wanted = std::env::var("POLYGRAD_ISA").unwrap_or_default();
            let named = found.iter().find(|isa| isa.name() == wanted);
            named.or(found.last()).copied().unwrap_or(Isa::BASELINE)
        })
    }

    /// Whether the processor has AVX2 and fused multiply-add.
    pub(crate) fn has_fma(self) -> bool {
        Target::FMA || self != Isa::BASELINE
    }

    /// Whether kernels have [few forms](Machine::LEAN) for this instruction set.
    pub(crate) fn is_lean(self) -> bool {
        self == Isa::BASELINE && Target::LEAN
    }

    /// The name of the instruction set.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            Level::Target => "baseline",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
        }
    }
}

/// Properties of the machine that are constants while a kernel is compiled.
pub(crate) trait Machine: polygrad_math::Machine {
    /// Whether there are 32 vector registers, of 64 bytes, not 16.
    const WIDE: bool = false;

    /// Whether a kernel has few forms, for less code at some cost of time: on x86-64 without AVX2, which processors made
    /// before 2013 alone lack, and in WebAssembly without vectors, where two rows of a tile fill the registers of a
    /// processor.
    const LEAN: bool = false;

    /// Runs a part of a kernel as a separate function. The compiler takes time that grows faster than the size of a
    /// function, so a kernel with many parts for different sizes compiles in a fraction of the time.
    fn apart<K: Kernel>(part: K) -> K::Output;
}

impl Machine for WithoutFma {
    const LEAN: bool = cfg!(any(target_arch = "x86_64", all(target_arch = "wasm32", not(target_feature = "simd128"))));

    fn apart<K: Kernel>(part: K) -> K::Output {
        at::<Self, K>(part)
    }
}

/// Kernels run at this machine in functions that are compiled for it alone.
impl Machine for Fused {
    fn apart<K: Kernel>(part: K) -> K::Output {
        #[cfg(target_arch = "x86_64")]
        if const { !Target::FMA } {
            // SAFETY: a kernel runs here, so the processor has the features.
            return unsafe { avx2(part) };
        }
        at::<Self, K>(part)
    }
}

/// A machine with fused multiply-add and 32 registers. Kernels run at this machine in functions that are compiled for it
/// alone.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Wide;

#[cfg(target_arch = "x86_64")]
impl polygrad_math::Machine for Wide {
    const FMA: bool = true;
}

#[cfg(target_arch = "x86_64")]
impl Machine for Wide {
    const WIDE: bool = true;

    fn apart<K: Kernel>(part: K) -> K::Output {
        if const { !Target::WIDE } {
            // SAFETY: a kernel runs here, so the processor has the features.
            return unsafe { avx512(part) };
        }
        at::<Self, K>(part)
    }
}

/// A loop that is compiled for several instruction sets. `run` and all functions that it calls for each element must
/// be inlined: a function that is not inlined is compiled for the build target.
pub(crate) trait Kernel {
    /// Whether it is compiled for AVX-512 without the feature `avx512`, too: it is arithmetic, or masks of comparisons, or was
    /// measured to gain from it. What moves data alone gains nothing.
    const WIDE: bool = false;

    type Output;
    fn run<M: Machine>(self) -> Self::Output;
}

/// Returns what the version of a kernel for an instruction set better than that of the target computes, if there is one. Written
/// out in each function that dispatches: there is one of these for each kernel.
macro_rules! beyond_target {
    ($isa:ident, $kernel:ident $(, $done:path)?) => {
        #[cfg(target_arch = "x86_64")]
        {
            if const { !Target::WIDE && (K::WIDE || cfg!(feature = "avx512")) } && $isa.0 == Level::Avx512 {
                // SAFETY: the processor has the features, or this value of `Isa` would not exist.
                return $($done)?(unsafe { avx512($kernel) });
            }
            if const { !Target::FMA } && $isa.0 >= Level::Avx2 {
                // SAFETY: as above; a processor with AVX-512 has the features of AVX2.
                return $($done)?(unsafe { avx2($kernel) });
            }
        }
        let _ = $isa;
    };
}

/// Runs the version of a kernel that is compiled for the best instruction set up to this one.
#[inline]
pub(crate) fn dispatch<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    beyond_target!(isa, kernel);
    at::<Target, K>(kernel)
}

/// [`dispatch`] for a kernel that is not compiled for [lean](Isa::is_lean) machines: the caller has another for them.
#[inline]
pub(crate) fn dispatch_full<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    beyond_target!(isa, kernel);
    if const { Target::LEAN } { unreachable!("a lean machine runs another kernel") } else { at::<Target, K>(kernel) }
}

/// [`dispatch`] for a kernel that is not compiled for machines without fused multiply-add; `None`, with nothing run, there.
#[inline]
pub(crate) fn dispatch_fused<K: Kernel>(isa: Isa, kernel: K) -> Option<K::Output> {
    beyond_target!(isa, kernel, Some);
    if const { Target::FMA } { Some(at::<Target, K>(kernel)) } else { None }
}

/// A kernel with the features of the build target, as a separate function, so that the frame of [`dispatch`] is not that
/// of a kernel, too.
#[inline(never)]
fn at<M: Machine, K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<M>()
}

// What is compiled for an instruction set is a module: the compiler divides the library by modules, and one with all kernels would be
// compiled by one core when all others are done.

#[cfg(target_arch = "x86_64")]
use self::fused::avx2;
#[cfg(target_arch = "x86_64")]
use self::wide::avx512;

#[cfg(target_arch = "x86_64")]
mod fused {
    use super::{Fused, Kernel};

    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    pub(super) fn avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Fused>()
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Kernel, Wide};

    #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")]
    #[inline(never)]
    pub(super) fn avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Wide>()
    }
}

/// Runs a body for each number from 0 to less than a constant, at most 8, as a loop that is unrolled before all others:
/// the compiler does not unroll loops with large bodies, and arrays that they index do not stay in registers.
macro_rules! unrolled {
    (for $i:ident in $count:expr, $body:block) => {
        unrolled!(@ $i $count, $body, 0 1 2 3 4 5 6 7)
    };
    (@ $i:ident $count:expr, $body:block, $($n:literal)*) => {$(
        if const { $n < $count } {
            let $i = const { if $n < $count { $n } else { 0 } };
            $body
        }
    )*};
}
pub(crate) use unrolled;

/// The transposed matrix of four lines, by shuffles of the vectors that every processor of the target has: the compiler
/// moves the elements one by one.
#[inline(always)]
pub(crate) fn transposed<E: Num>(lines: [&[E; 4]; 4]) -> [[E; 4]; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{
            __m128, __m128d, _mm_movehl_ps, _mm_movelh_ps, _mm_unpackhi_pd, _mm_unpackhi_ps, _mm_unpacklo_pd,
            _mm_unpacklo_ps,
        };
        use std::mem::transmute_copy;
        if const { size_of::<E>() == 4 } {
            // SAFETY: four elements of four bytes are a vector of 16 bytes, and its bits are moved unchanged.
            return unsafe {
                let [a, b, c, d]: [__m128; 4] = [0, 1, 2, 3].map(|k| transmute_copy(lines[k]));
                let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
                let (x, y) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
                let of = [_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab), _mm_movelh_ps(x, y), _mm_movehl_ps(y, x)];
                transmute_copy(&of)
            };
        }
        if const { size_of::<E>() == 8 } {
            // SAFETY: two elements of eight bytes are a vector of 16 bytes, and its bits are moved unchanged.
            return unsafe {
                let v: [[__m128d; 2]; 4] = [0, 1, 2, 3].map(|k| transmute_copy(lines[k]));
                let low = |k: usize, l: usize| _mm_unpacklo_pd(v[l][k], v[l + 1][k]);
                let high = |k: usize, l: usize| _mm_unpackhi_pd(v[l][k], v[l + 1][k]);
                let line = |k: usize| [[low(k, 0), low(k, 2)], [high(k, 0), high(k, 2)]];
                transmute_copy(&[line(0), line(1)])
            };
        }
    }
    let element = |step: usize| [lines[0][step], lines[1][step], lines[2][step], lines[3][step]];
    [element(0), element(1), element(2), element(3)]
}

#[cfg(test)]
mod tests {
    use super::transposed;
    use crate::dtype::Num;

    fn check<E: Num>(number: impl Fn(usize) -> E) {
        let lines = [0, 1, 2, 3].map(|l| [0, 1, 2, 3].map(|k| number(4 * l + k)));
        let columns = transposed(lines.each_ref());
        assert!((0..16).all(|i| columns[i % 4][i / 4].same_bits(lines[i / 4][i % 4])));
    }

    #[test]
    fn lines_are_transposed() {
        check(|i| i as f32 - 7.5);
        check(|i| i as f64 - 7.5);
        check(|i| i as i64 - 7);
        check(|i| if i % 2 == 0 { f32::NAN } else { -0.0 });
    }
}
