//! The laws that horde-ad states for the times of its benchmarks of convolutions, here for counts.
//!
//! Laws: an optimized program costs at most the recorded one; a derived gradient costs at most one written by hand; known
//! errors cost no more than others; a call costs what the made function costs; the order of indices costs nothing; and
//! the whole is the sum of its parts: of a network its layers, of a fold its steps. `docs/horde-ad.md` has the figures.

use polygrad::inspect::{Cost, count};
use polygrad::ops::View;
use polygrad::program::{Op, Program};
use polygrad::{Array, Function, grad_with};

use crate::support::assert_close;

#[allow(dead_code)]
#[path = "../../examples/horde_ad/main.rs"]
mod example;

use example::cases::{
    ConvolutionCase, convolutional_case, convolutional_loss, drawn, gather_case, matrices_case, recurrent_case,
};
use example::convolutions::{Images, Variant, by_index};
use example::counts::{FOLDS, convolutions, networks};
use example::measure::cost;
use example::networks::{loss_of_matrices, recurrent_loss};
use example::stated;

/// Whether a program costs at most what another one costs, in elements and in bytes.
#[track_caller]
fn at_most(what: &str, cost: Cost, other: Cost) {
    assert!(cost.work <= other.work && cost.bytes <= other.bytes, "{what}: {cost:?}, and the other {other:?}");
}

/// Each kind of convolution of images of `6 x 6`, and whether the gradient is that in the kernels.
fn cases() -> impl Iterator<Item = (String, ConvolutionCase, bool)> {
    Variant::ALL.into_iter().flat_map(|variant| {
        [true, false].map(|in_kernels| {
            let name = format!("{variant:?}, {}", if in_kernels { "kernels" } else { "images" });
            (name, ConvolutionCase::new(variant, 6), in_kernels)
        })
    })
}

/// The places at which the contractions of a program have a product: all of their views see an element there.
fn products_of(program: &Program) -> usize {
    let of = |[a, b, out]: [&View; 3]| {
        let places = (0..out.shape().iter().product()).map(|mut flat: usize| {
            let mut index = vec![0; out.shape().len()];
            for (i, n) in index.iter_mut().zip(out.shape()).rev() {
                (*i, flat) = (flat % n, flat / n);
            }
            index
        });
        places.filter(|index| [a, b, out].iter().all(|view| view.at(index).is_some())).count()
    };
    let contractions = program
        .nodes()
        .iter()
        .filter_map(|node| if let Op::Contract(op, ..) = &node.op { Some(of([&op.a, &op.b, &op.out])) } else { None });
    contractions.sum()
}

#[test]
fn convolutions_are_those_of_the_library() {
    for variant in Variant::ALL {
        let (kernels, images) = (drawn([2, 3, 3, 2], 1), drawn([2, 3, 5, 4], 2));
        let by_library = images.conv2d(&kernels, variant.layout([3, 2]));
        assert_close(&format!("{variant:?}"), by_index(variant, &kernels, &images).array(), by_library.array(), 1e-13);
    }
}

#[test]
fn gradients_are_those_by_hand() {
    for (what, case, in_kernels) in cases() {
        let (x, data) = case.arguments(in_kernels);
        let by_hand = case.by_hand(in_kernels).run_with(&x, &data).expect("its shapes");
        let derived = case.derived(in_kernels).run_with(&x, &data).expect("its shapes");
        let direct = polygrad::direct::grad_with(|x, data| case.paired(in_kernels, x, data), &x, &data);
        assert_close(&what, derived.array(), by_hand.array(), 1e-12);
        assert_close(&what, direct.array(), by_hand.array(), 1e-12);
    }
}

/// Law 6 there: to run the derived gradient takes at most as long as to run that by hand.
#[test]
fn a_derived_gradient_costs_at_most_one_by_hand() {
    for (what, case, in_kernels) in cases() {
        let [derived, by_hand] = [case.derived(in_kernels), case.by_hand(in_kernels)];
        let [derived, by_hand] = [derived.optimized(), by_hand.optimized()];
        assert_eq!([derived, by_hand].map(|program| cost(program).calls), [1, 1], "{what}\n{derived}\n{by_hand}");
        assert_eq!(products_of(derived), products_of(by_hand), "{what}\n{derived}\n{by_hand}");
    }
    for size in [6, 24] {
        for (what, [derived, by_hand]) in convolutions(size) {
            assert_eq!(derived.bytes, by_hand.bytes, "{what}, {size}");
            // Where windows begin outside of the image, the model counts places at which nothing is seen, too: a derived
            // gradient in the images goes over the places of all errors, one by hand over those of the pixels.
            if what != "padded, images" {
                at_most(&what, derived, by_hand);
            }
        }
    }
}

/// Law 5: to run a simplified program takes at most as long as to run the recorded one.
#[test]
fn an_optimized_program_costs_at_most_the_recorded_one() {
    for (what, case, in_kernels) in cases() {
        for made in [case.derived(in_kernels), case.by_hand(in_kernels)] {
            at_most(&what, cost(made.optimized()), cost(made.program()));
        }
    }
    for (name, _) in stated::GATHERS {
        let made = gather_case(name).0;
        at_most(name, cost(made.optimized()), cost(made.program()));
    }
    macro_rules! network {
        ($name:literal, $f:expr, $x:expr, $data:expr) => {{
            let made = Function::grad_with($f, $x, $data);
            at_most($name, cost(made.optimized()), cost(made.program()));
        }};
    }
    let (x, data) = convolutional_case(8);
    network!("convolutional", convolutional_loss, &x, &data);
    let (x, data) = matrices_case([30, 10]);
    network!("matrices", loss_of_matrices, &x, &data[0]);
    let (x, data) = recurrent_case(6, 5);
    // Rules that divide by a reciprocal in place of a quotient do up to a fiftieth more here, in half of the operations.
    let made = Function::grad_with(recurrent_loss, &x, &data);
    let (now, before) = (cost(made.optimized()), cost(made.program()));
    let more = |n: u64| n + n / 50;
    at_most("recurrent", now, Cost { work: more(before.work), bytes: more(before.bytes), ..before });
    assert!(now.calls < before.calls, "recurrent: {now:?} and {before:?}");
}

/// Law 4: errors that are known take as long as others. Errors and images that are known take no time here.
#[test]
fn known_errors_cost_at_most_what_others_cost() {
    for (what, case, in_kernels) in cases() {
        let (x, (other, errors)) = case.arguments(in_kernels);
        let made = cost(case.derived(in_kernels).optimized());
        let known = Function::grad_with(
            |x: &Images<_>, other: &Images<_>| {
                let errors = Images::constant(errors.array().clone());
                case.paired(in_kernels, x, &(other.clone(), errors))
            },
            &x,
            &other,
        );
        assert_eq!(cost(known.optimized()), made, "{what}\n{}", known.optimized());
        let known = case.by_hand(in_kernels).with_data(&(other, errors)).expect("data of its shapes");
        assert_eq!(cost(known.optimized()), Cost::default(), "{what}\n{}", known.optimized());
    }
}

/// Laws 1 to 3: a call takes as long as to make a gradient and to run it, up to a tenth. A program that runs once is
/// optimized less.
#[test]
fn a_call_runs_what_is_made() {
    for (what, case, in_kernels) in cases() {
        let both = case.arguments(in_kernels);
        let call = |(x, data): &(Images<_>, (Images<_>, Images<_>))| {
            grad_with(|x: &Images<_>, data: &_| case.paired(in_kernels, x, data), x, data)
        };
        let called = count::<Array, _, _>(call, &both).1.total();
        let made = cost(case.derived(in_kernels).optimized());
        at_most(&what, made, called);
        assert!(10 * called.work <= 11 * made.work, "{what}: {called:?}, made before {made:?}");
    }
}

/// Laws 7 to 15: one gather takes as long in any order of its indices, two take at most as long as one, scatters at most
/// as long as gathers. Here each is one view, whatever it is written as.
#[test]
fn the_order_of_indices_costs_nothing() {
    let windows: u64 = 48 * 3 * 3 * 48 * 3 * 3;
    for (name, _) in stated::GATHERS {
        let made = gather_case(name).0;
        let found = cost(made.optimized());
        assert_eq!((found.calls, found.work), (1, windows), "{name}\n{}", made.optimized());
        assert!(found.bytes <= 2 * 8 * windows, "{name}: {found:?}");
    }
}

/// Gathers in any order read the same.
#[test]
fn windows_are_those_by_hand() {
    for (name, _) in stated::GATHERS {
        let (made, x) = gather_case(name);
        let (y, read) = (made.run(&x).expect("its shape"), x.0[0].to_vec::<f64>().expect("floats"));
        let y = y.0[0].to_vec::<f64>().expect("floats");
        // The element of a result at its position, by the definition.
        let of = |at: &dyn Fn([usize; 6]) -> usize, sizes: [usize; 6]| {
            let mut flat = 0;
            for a in 0..sizes[0] {
                for b in 0..sizes[1] {
                    for (c, d) in (0..sizes[2]).flat_map(|c| (0..sizes[3]).map(move |d| (c, d))) {
                        for (e, f) in (0..sizes[4]).flat_map(|e| (0..sizes[5]).map(move |f| (e, f))) {
                            assert_eq!(y[flat], read[at([a, b, c, d, e, f])], "{name}: {:?}", [a, b, c, d, e, f]);
                            flat += 1;
                        }
                    }
                }
            }
        };
        let two = |[i, j, k, l, m, n]: [usize; 6]| ((l + n) * 3 + k) * 150 + m * 50 + i + j;
        let turned = |[j, i, k, n, m, l]: [usize; 6]| ((l + n) * 3 + k) * 150 + m * 50 + i + j;
        let one = |[i, j, k, l, m, n]: [usize; 6]| ((i + j) * 50 + k + l) * 9 + m * 3 + n;
        match name {
            "two scatters" | "one scatter" => {
                let [total, read] = [y.iter().sum::<f64>(), read.iter().sum()];
                assert!((total - read).abs() < 1e-9, "{name}: {total}, of {read}");
            }
            "two gathers, axes turned" => of(&turned, [3, 48, 3, 3, 3, 48]),
            _ if name.starts_with("two") => of(&two, [48, 3, 3, 48, 3, 3]),
            _ => of(&one, [48, 3, 48, 3, 3, 3]),
        }
    }
}

#[test]
fn a_network_is_the_sum_of_its_layers() {
    for network in networks() {
        let (whole, sum) = (network.whole, network.sum());
        at_most(network.name, whole, sum);
        // Within a hundredth: what is left out are values that no one asks for.
        assert!(100 * sum.work <= 101 * whole.work, "{}: {whole:?}, its layers {sum:?}", network.name);
    }
}

/// What is counted for `n`, `2 n` and `4 n` steps grows by the same for each step.
#[test]
fn a_fold_is_the_sum_of_its_steps() {
    for (name, steps) in FOLDS {
        let costs = [7, 14, 28].map(steps);
        for of in [|cost: Cost| cost.calls, |cost: Cost| cost.work, |cost: Cost| cost.bytes] {
            let [a, b, c] = costs.map(of);
            assert_eq!(c - b, 2 * (b - a), "{name}: 7, 14, 28 steps cost {a}, {b}, {c}");
            assert!((b - a) % 7 == 0 && a < 2 * (b - a), "{name}: 7, 14 steps cost {a}, {b}");
        }
    }
}
