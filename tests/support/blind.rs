//! An interpreter that computes and never shows its numbers, as while a program is traced: a program that runs in it
//! does not peek.

use polygrad::base::{Report, Staging};
use polygrad::{Array, BaseTensor};

use crate::wrapped::{arrays, computed};

/// Arrays that do not show their numbers, as while a program is traced.
#[derive(Clone)]
pub(crate) struct Blind(pub(crate) Array);

arrays!(Blind);

impl BaseTensor for Blind {
    computed!(Blind);
}

impl Staging for Blind {}

impl Report for Blind {}
