//! Programs exported as StableHLO: the text, and what it means, by an evaluator of the text.

mod agree;
mod contractions;
mod golden;
mod indices;
mod kept;
mod matrices;
mod places;
mod refused;
mod sharded;
mod tables;
mod views;
