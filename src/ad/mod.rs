//! The user's verbs.
pub mod direct;
