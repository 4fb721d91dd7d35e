//! Three programs that a page runs in the browser: a fit, a pole that a plan controls, and bounds of a function.
//!
//! | module | contents |
//! |---|---|
//! | `fit` | bumps through points, with a band of uncertainty |
//! | `pendulum` | the world, and the forces of the next two seconds |
//! | `bounds` | boxes with proven bounds, and the least value by branch and bound |
//! | `page` | the functions of the C ABI that the script of the page calls |

pub mod bounds;
pub mod fit;
pub mod page;
pub mod pendulum;
