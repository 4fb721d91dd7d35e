//! Programs that do not leave as source code, or not as native code.

use polygrad::emission::{Compiler, EmissionError, NativeError};
use polygrad::{Array, CertificateError, Function, Tensor, tensor, while_loop};

use crate::log::Log;

/// What is refused, and faults of compilers.
pub(crate) fn sources(log: &mut Log) {
    let x = tensor([1.0, 2.0]);
    let sine = Function::stage(|x: &Tensor<_, 1>| x.sin(), &x);
    log.fails(sine.to_rust("for"));
    let spectrum = Function::stage(|x: &Tensor<_, 1>| x.rfft(0).re().sum(), &x);
    // Without the line, which moves.
    let EmissionError::Operation { operation, reason, .. } = spectrum.to_c("spectrum").expect_err("it is refused")
    else {
        panic!("an operation is refused")
    };
    log.fails(Err::<(), _>(EmissionError::Operation { operation, reason, at: None }));
    log.fails(Err::<(), _>(EmissionError::Size { operations: 60_000, most: 50_000 }));

    log.fails(sine.native(&Compiler::new("no-compiler-of-this-name").folder("target")));
    log.fails(sine.native(&Compiler::new("false").folder("target")));
    log.fails(sine.native(&Compiler::new("true").folder("/dev/null/folder")));
    log.fails(Err::<(), _>(NativeError::NoFolder));
    let limit = std::time::Duration::from_secs(600);
    log.fails(Err::<(), _>(NativeError::TimeLimit { compiler: "cc".into(), limit }));
    let fact = "belongs to the user 1000, and this is the user 0".to_owned();
    log.fails(Err::<(), _>(NativeError::Foreign { path: "a.so".into(), fact }));
    log.fails(Err::<(), _>(NativeError::Library { path: "a.so".into(), reason: "it is empty".into() }));
}

/// Boxes that do not fit, and operations without bounds.
pub(crate) fn certificates(log: &mut Log) {
    let x = tensor([1.0, 2.0]);
    let (low, high) = (Array::from([0.0, 0.0]), Array::from([1.0, 1.0]));
    let (low, high) = (std::slice::from_ref(&low), std::slice::from_ref(&high));
    let sine = Function::stage(|x: &Tensor<_, 1>| x.sin(), &x).to_c("sine").expect("it is written");
    log.fails(sine.certificate(&[], high));
    log.fails(sine.certificate(low, &[Array::from([1.0])]));
    log.fails(sine.certificate(high, low));
    let halved = Function::stage(|x: &Tensor<_, 1>| while_loop(x.clone(), |x| x.sum().gt(1.0), |x| x * 0.5), &x);
    let source = halved.to_c("halved").expect("it is written");
    // Without the line, which moves.
    let undecided = source.certificate(low, high).expect_err("bounds do not decide when the loop ends");
    let CertificateError::Undecided { operation, trips, .. } = undecided else { panic!("{undecided}") };
    log.fails(Err::<(), _>(CertificateError::Undecided { operation, trips, at: None }));
    let solved = Function::stage(|x: &Tensor<_, 1>| (x.outer(x) + Tensor::eye(2)).cholesky().sum(), &x);
    let unbounded = solved.to_c("solved").expect("it is written").certificate(low, high).expect_err("it has no bounds");
    let CertificateError::NoBounds { operation, .. } = unbounded else { panic!("{unbounded}") };
    log.fails(Err::<(), _>(CertificateError::NoBounds { operation, at: None }));
}
