//! Dispatch of kernels to the instruction set of the processor: each kernel is compiled once for each set.
//!
//! Functions that are compiled for an instruction set are called here alone, but for those that register code
//! (`backend/register`) calls by address, which need [`Isa::has_fma`].
//!
//! Law: a value of [`Isa`] above the baseline exists only if the processor has the features, since
//! [`Isa::supported`] alone constructs such values. So the unsafe calls of [`dispatch`] are sound.
#![allow(unsafe_code)]

use std::sync::OnceLock;

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Isa(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// The features of the build target: SSE2 on x86-64.
    Baseline,
    /// AVX2 and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with its double-word, byte and short-vector extensions.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// The features of the build target, which every processor that runs the program has.
    pub(crate) const BASELINE: Isa = Isa(Level::Baseline);

    /// The instruction sets of this processor, from the baseline to the best.
    pub(crate) fn supported() -> Vec<Isa> {
        #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
        let mut found = vec![Isa::BASELINE];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            found.push(Isa(Level::Avx2));
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
            if wide && is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512bw") {
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
        self != Isa::BASELINE
    }

    /// The name of the instruction set.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            Level::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
        }
    }
}

/// Properties of the machine that are constants while a kernel is compiled.
pub(crate) trait Machine: Copy {
    /// Whether a fused multiply-add is one instruction.
    const FMA: bool;
}

/// A machine without fused multiply-add.
#[derive(Clone, Copy)]
pub(crate) struct WithoutFma;

impl Machine for WithoutFma {
    const FMA: bool = false;
}

/// A machine with fused multiply-add.
#[derive(Clone, Copy)]
pub(crate) struct Fused;

impl Machine for Fused {
    const FMA: bool = true;
}

/// A loop that is compiled once for each instruction set. `run` and all functions that it calls for each element must
/// be inlined: a function that is not inlined is compiled for the baseline.
pub(crate) trait Kernel {
    type Output;
    fn run<M: Machine>(self) -> Self::Output;
}

/// Runs the version of a kernel that is compiled for an instruction set.
#[inline]
pub(crate) fn dispatch<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    match isa.0 {
        Level::Baseline => kernel.run::<WithoutFma>(),
        // SAFETY: the processor has the features, or this value of `Isa` would not exist.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(kernel) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Fused>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Fused>()
}
