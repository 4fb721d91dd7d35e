//! Programs exported as StableHLO.

mod agree;
