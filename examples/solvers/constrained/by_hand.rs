//! Derivatives of some of the problems as one writes them by hand, to compare with.

use crate::Derivatives;

/// A problem with full matrices; the Hessian is its lower triangle, row by row.
struct ByHand {
    sizes: [usize; 2],
    objective: fn(&[f64]) -> f64,
    gradient: fn(&[f64]) -> Vec<f64>,
    constraints: fn(&[f64]) -> Vec<f64>,
    jacobian: fn(&[f64]) -> Vec<f64>,
    hessian: fn(&[f64], f64, &[f64]) -> Vec<f64>,
}

impl Derivatives for ByHand {
    fn sizes(&self) -> [usize; 2] {
        self.sizes
    }

    fn objective(&self, x: &[f64]) -> f64 {
        (self.objective)(x)
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64]) {
        gradient.copy_from_slice(&(self.gradient)(x));
    }

    fn constraints(&self, x: &[f64], values: &mut [f64]) {
        values.copy_from_slice(&(self.constraints)(x));
    }

    fn jacobian_pattern(&self) -> Vec<(usize, usize)> {
        let [n, m] = self.sizes;
        (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).collect()
    }

    fn jacobian(&self, x: &[f64], elements: &mut [f64]) {
        elements.copy_from_slice(&(self.jacobian)(x));
    }

    fn hessian_pattern(&self) -> Vec<(usize, usize)> {
        (0..self.sizes[0]).flat_map(|i| (0..=i).map(move |j| (i, j))).collect()
    }

    fn hessian(&self, x: &[f64], weight: f64, multipliers: &[f64], elements: &mut [f64]) {
        elements.copy_from_slice(&(self.hessian)(x, weight, multipliers));
    }
}

const HS7: ByHand = ByHand {
    sizes: [2, 1],
    objective: |x| (1.0 + x[0] * x[0]).ln() - x[1],
    gradient: |x| vec![2.0 * x[0] / (1.0 + x[0] * x[0]), -1.0],
    constraints: |x| vec![(1.0 + x[0] * x[0]).powi(2) + x[1] * x[1] - 4.0],
    jacobian: |x| vec![4.0 * x[0] * (1.0 + x[0] * x[0]), 2.0 * x[1]],
    hessian: |x, w, l| {
        let a = x[0] * x[0];
        vec![w * 2.0 * (1.0 - a) / (1.0 + a).powi(2) + l[0] * (4.0 + 12.0 * a), 0.0, 2.0 * l[0]]
    },
};

const HS15: ByHand = ByHand {
    sizes: [2, 2],
    objective: |x| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2),
    gradient: |x| {
        let valley = x[1] - x[0] * x[0];
        vec![-400.0 * x[0] * valley - 2.0 * (1.0 - x[0]), 200.0 * valley]
    },
    constraints: |x| vec![x[0] * x[1] - 1.0, x[0] + x[1] * x[1]],
    jacobian: |x| vec![x[1], x[0], 1.0, 2.0 * x[1]],
    hessian: |x, w, l| {
        let first = w * (1200.0 * x[0] * x[0] - 400.0 * x[1] + 2.0);
        vec![first, -400.0 * w * x[0] + l[0], 200.0 * w + 2.0 * l[1]]
    },
};

const HS43: ByHand = ByHand {
    sizes: [4, 3],
    objective: |x| {
        let squares = x[0] * x[0] + x[1] * x[1] + 2.0 * x[2] * x[2] + x[3] * x[3];
        squares - 5.0 * x[0] - 5.0 * x[1] - 21.0 * x[2] + 7.0 * x[3]
    },
    gradient: |x| vec![2.0 * x[0] - 5.0, 2.0 * x[1] - 5.0, 4.0 * x[2] - 21.0, 2.0 * x[3] + 7.0],
    constraints: |x| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| x[k] * x[k]);
        vec![
            8.0 - a - b - c - d - x[0] + x[1] - x[2] + x[3],
            10.0 - a - 2.0 * b - c - 2.0 * d + x[0] + x[3],
            5.0 - 2.0 * a - b - c - 2.0 * x[0] + x[1] + x[3],
        ]
    },
    jacobian: |x| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| 2.0 * x[k]);
        [
            [-a - 1.0, 1.0 - b, -c - 1.0, 1.0 - d],
            [1.0 - a, -2.0 * b, -c, 1.0 - 2.0 * d],
            [-2.0 * a - 2.0, 1.0 - b, -c, 1.0],
        ]
        .concat()
    },
    hessian: |_, w, l| {
        let a = 2.0 * (w - l[0] - l[1]) - 4.0 * l[2];
        let b = 2.0 * (w - l[0] - l[2]) - 4.0 * l[1];
        let c = 4.0 * w - 2.0 * (l[0] + l[1] + l[2]);
        let d = 2.0 * (w - l[0]) - 4.0 * l[1];
        vec![a, 0.0, b, 0.0, 0.0, c, 0.0, 0.0, 0.0, d]
    },
};

const HS71: ByHand = ByHand {
    sizes: [4, 2],
    objective: |x| x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
    gradient: |x| {
        let sum = x[0] + x[1] + x[2];
        vec![x[3] * (sum + x[0]), x[0] * x[3], x[0] * x[3] + 1.0, x[0] * sum]
    },
    constraints: |x| vec![x.iter().product::<f64>() - 25.0, x.iter().map(|x| x * x).sum::<f64>() - 40.0],
    jacobian: |x| {
        let [a, b, c, d] = [x[0], x[1], x[2], x[3]];
        vec![b * c * d, a * c * d, a * b * d, a * b * c, 2.0 * a, 2.0 * b, 2.0 * c, 2.0 * d]
    },
    hessian: |x, w, l| {
        let ([a, b, c, d], product, twice) = ([x[0], x[1], x[2], x[3]], l[0], 2.0 * l[1]);
        vec![
            w * 2.0 * d + twice,
            w * d + product * c * d,
            twice,
            w * d + product * b * d,
            product * a * d,
            twice,
            w * (2.0 * a + b + c) + product * b * c,
            w * a + product * a * c,
            w * a + product * a * b,
            twice,
        ]
    },
};

/// The problems, by their names.
pub(crate) fn all() -> Vec<(&'static str, Box<dyn Derivatives>)> {
    [("HS7", HS7), ("HS15", HS15), ("HS43", HS43), ("HS71", HS71)]
        .map(|(name, problem)| (name, Box::new(problem) as Box<dyn Derivatives>))
        .into()
}
