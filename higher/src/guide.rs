//! The guide to higher-order programs: a page of the book of `polygrad`. Every program in it is a test.

// The lines before the page say where its links lead within this documentation: of two definitions of a link, the first one
// counts. The other pages of the guide are documented with `polygrad`.

#[doc = "[roll]: crate::roll"]
#[doc = "[primitive]: crate::Primitive"]
#[doc = "[monoidal]: crate::Monoidal"]
#[doc = "[differential]: crate::Differential"]
#[doc = "[reduce]: crate::reduce()"]
#[doc = "[count]: polygrad::inspect::count()"]
#[doc = "[next: loops]: polygrad"]
#[doc = "[next: one program, many readings]: polygrad"]
#[doc = "[next: what derivatives use]: polygrad"]
#[doc = ""]
#[doc = include_str!("../docs/higher_order.md")]
pub mod higher_order {}
