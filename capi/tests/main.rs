//! What C sees: the header and the exports agree, values and derivatives are right, hostile arguments are errors in words,
//! and a program of C runs, under sanitizers too.

mod bridgestan;
mod compiled;
mod derivatives;
mod functions;
mod header;
mod hostile;
mod support;
