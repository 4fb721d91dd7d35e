//! Programs as source code: what it computes, what it says, and that nothing in it panics.

mod agree;
mod exact;
mod golden;
mod names;
mod native;
