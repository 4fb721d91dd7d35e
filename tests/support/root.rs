//! Where the repository is: the tests are a crate of their own in it.

use std::path::Path;

/// The folder of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the repository")
}
