//! The rules that make programs simpler: each by itself, all on the gallery, and what becomes of products.
//!
//! Laws: a rule computes the same on both sides, up to rounding, infinities, NaN and zeros of both signs included;
//! every rule of the tables has a case in which it fires; and no program of the gallery gets dearer.

mod basis;
mod cases;
mod conditions;
mod contractions;
mod costs;
mod experts;
mod near;
mod nested;
mod padding;
mod pipeline;
mod refused;
mod signs;
mod sums;
mod table;
