//! Printing programs.
