//! Linear algebra: `cholesky` and `triangular_solve`.
//!
//! Law: a matrix without the result that is asked for gives NaN everywhere, and the solution for zeros is zeros.

use super::Unsupported;
use super::text::{Code, Ty, Value, types};
use crate::ops::Matrix;

impl Code {
    pub(super) fn matrix(&mut self, op: Matrix, args: &[Value]) -> Result<Vec<Value>, Unsupported> {
        match op {
            Matrix::Cholesky => Ok(vec![self.cholesky(&args[0])]),
            Matrix::SolveTriangular { lower, transposed, unit } => {
                Ok(vec![self.solve_triangular(&args[0], &args[1], [lower, transposed, unit])])
            }
            Matrix::Inverse | Matrix::Det | Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor | Matrix::Solve { .. } => {
                Err(Unsupported::Matrix { name: op.name() })
            }
            Matrix::Qr | Matrix::Eigh | Matrix::Svd | Matrix::Lstsq | Matrix::Expm | Matrix::ExpmTangent { .. } => {
                Err(Unsupported::Matrix { name: op.name() })
            }
        }
    }

    /// The matrices with their last two axes exchanged.
    fn transposed(&mut self, a: &Value) -> Value {
        let rank = a.shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank - 2, rank - 1);
        self.transpose(a, &order)
    }

    /// The mask of the elements on and below the diagonal (`GE`), or of others, by the row and the column.
    fn triangle(&mut self, how: &str, like: &Value) -> Value {
        let rank = like.shape.len();
        let (row, column) = (self.iota(&like.shape, rank - 2), self.iota(&like.shape, rank - 1));
        self.compare(how, &row, &column)
    }

    /// Whether a mask holds for all elements of each matrix, as a mask like `shape`.
    fn everywhere(&mut self, mask: &Value, like: &Value) -> Value {
        let rank = mask.shape.len();
        let all = self.reduce("and", mask, 1.0, &[rank - 2, rank - 1]);
        let batch: Vec<usize> = (0..rank - 2).collect();
        self.broadcast(&all, &like.shape, &batch)
    }

    fn finite(&mut self, a: &Value) -> Value {
        self.op(format!("stablehlo.is_finite {} : ({}) -> ", a.name, a.tensor()), &a.shape, Ty::Bool)
    }

    /// The lower triangular factor of the symmetric part.
    fn cholesky(&mut self, a: &Value) -> Value {
        if a.shape.contains(&0) {
            return a.clone();
        }
        let (t, half, zero, nan) = (self.transposed(a), self.like(0.5, a), self.like(0.0, a), self.like(f64::NAN, a));
        let twice = self.binary("add", a, &t);
        let symmetric = self.binary("multiply", &twice, &half);
        let l = self.op(format!("stablehlo.cholesky {}, lower = true : ", symmetric.name), &a.shape, a.ty);
        let below = self.triangle("GE", &l);
        let l = self.select(&below, &l, &zero);
        let finite = self.finite(&l);
        let done = self.everywhere(&finite, &l);
        self.select(&done, &l, &nan)
    }

    /// The solution with a triangle of a matrix.
    fn solve_triangular(&mut self, a: &Value, b: &Value, [lower, transposed, unit]: [bool; 3]) -> Value {
        if a.shape.contains(&0) || b.shape.contains(&0) {
            return b.clone();
        }
        let (zero, nan) = (self.like(0.0, b), self.like(f64::NAN, b));
        // What does not count may be anything.
        let (one, nothing) = (self.like(1.0, a), self.like(0.0, a));
        let mut counts = self.triangle(if lower { "GE" } else { "LE" }, a);
        if unit {
            counts = self.triangle(if lower { "GT" } else { "LT" }, a);
        }
        let triangle = self.select(&counts, a, &nothing);
        let mut fine = self.finite(&triangle);
        if !unit {
            let diagonal = self.triangle("EQ", a);
            let at_diagonal = self.select(&diagonal, a, &one);
            let regular = self.compare("NE", &at_diagonal, &nothing);
            fine = self.binary("and", &fine, &regular);
        }
        let transpose = if transposed { "TRANSPOSE" } else { "NO_TRANSPOSE" };
        let text = format!(
            "\"stablehlo.triangular_solve\"({}, {}) <{{left_side = true, lower = {lower}, transpose_a = #stablehlo<transpose {transpose}>, \
             unit_diagonal = {unit}}}> : ({}) -> ",
            triangle.name,
            b.name,
            types([&triangle, b])
        );
        let x = self.op(text, &b.shape, b.ty);
        let fine = self.everywhere(&fine, b);
        let x = self.select(&fine, &x, &nan);
        let nothing = self.compare("EQ", b, &zero);
        let nothing = self.everywhere(&nothing, b);
        self.select(&nothing, &zero, &x)
    }
}
