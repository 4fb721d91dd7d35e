#[path = "../derivatives/implicit.rs"]
mod implicit;
#[path = "../derivatives/ode.rs"]
mod ode;
