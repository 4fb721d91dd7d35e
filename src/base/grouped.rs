//! Loops of interpreters over `T` whose values are groups of values of `T`, such as a primal and a tangent.
//!
//! Law: a group has the same size in every trip.

use smallvec::SmallVec;

use super::{BaseTensor, Trip};
use crate::dtype::DType;

/// A value of an interpreter over `T`, as the list of the values of `T` that it consists of.
///
/// ```
/// use polygrad::Array;
/// use polygrad::base::Group;
/// // A primal and its tangent.
/// let dual: Group<Array> = [Array::scalar(2.0), Array::scalar(1.0)].into();
/// assert_eq!(dual[1], Array::scalar(1.0));
/// ```
pub type Group<T> = SmallVec<[T; 2]>;

/// One trip of a loop on groups: a function of the carry and the current elements of the sequences.
///
/// Example: [`map_accum_grouped`].
pub type GroupedStep<'a, T> = &'a mut dyn FnMut(Vec<Group<T>>, Vec<Group<T>>) -> Trip<Group<T>>;

/// A loop of `T` for an interpreter over `T`, whose values are groups of values of `T`.
///
/// `step` takes the carry and the current elements as groups, and returns the next carry, in groups of the same sizes,
/// and the outputs, in groups whose sizes are the same in every trip. The results are groups of those sizes.
///
/// # Panics
/// When groups of the carry, or of the outputs of two trips, differ in size; and where [`BaseTensor::map_accum`] does.
///
/// ```
/// use polygrad::base::{Group, GroupedStep, map_accum_grouped};
/// use polygrad::{Array, BaseTensor, ops::Binary};
/// // A sum, and with each partial sum the number of the trip.
/// let (start, x): (Group<Array>, Group<Array>) =
///     ([Array::scalar(0.0), Array::scalar(0.0)].into(), [Array::from([1.0, 2.0, 4.0])].into_iter().collect());
/// let step: GroupedStep<'_, Array> = &mut |carry, x| {
///     let sum = carry[0][0].binary(Binary::Add, &x[0][0]);
///     let trip = carry[0][1].binary(Binary::Add, &Array::scalar(1.0));
///     (vec![[sum.clone(), trip].into()], vec![[sum].into_iter().collect()])
/// };
/// let (carry, outputs) = map_accum_grouped(3, false, vec![start], &[x], step);
/// assert_eq!((&carry[0][0], &carry[0][1]), (&Array::scalar(7.0), &Array::scalar(3.0)));
/// assert_eq!(outputs[0][0], Array::from([1.0, 3.0, 7.0]));
/// ```
#[track_caller]
pub fn map_accum_grouped<T: BaseTensor>(
    n: usize,
    reverse: bool,
    init: Vec<Group<T>>,
    xs: &[Group<T>],
    step: GroupedStep<'_, T>,
) -> Trip<Group<T>> {
    let sizes = |groups: &[Group<T>]| groups.iter().map(|group| group.len()).collect::<Vec<usize>>();
    let (of_carry, of_elements, mut of_outputs) = (sizes(&init), sizes(xs), None);
    // A panic inside the closure would show the line of the closure, so a misfit is reported after the loop.
    let mut misfit: Option<[Vec<usize>; 2]> = None;
    let flat: Vec<T> = xs.iter().flatten().cloned().collect();
    let (carry, outputs) =
        T::map_accum(n, reverse, init.into_iter().flatten().collect(), &flat, &mut |carry, elements| {
            let (carry, outputs) = step(grouped(carry, &of_carry), grouped(elements.to_vec(), &of_elements));
            let (now, before) = (sizes(&outputs), of_outputs.get_or_insert_with(|| sizes(&outputs)));
            for (before, now) in [(&of_carry, sizes(&carry)), (before, now)] {
                if *before != now {
                    misfit.get_or_insert_with(|| [before.clone(), now]);
                }
            }
            (carry.into_iter().flatten().collect(), outputs.into_iter().flatten().collect())
        });
    if let Some([before, now]) = misfit {
        panic!(
            "map_accum_grouped: the step must return the carry in groups as large as those it takes, and outputs in groups as \
             large as those of other trips, but groups of {before:?} become groups of {now:?}; keep together what one value \
             consists of"
        );
    }
    (grouped(carry, &of_carry), grouped(outputs, &of_outputs.unwrap_or_default()))
}

/// A while loop of `T` for an interpreter over `T`, whose values are groups of values of `T`: see
/// [`BaseTensor::repeat`].
///
/// The first value of the first group is the mask that says whether another trip runs. `step` takes the carry as groups,
/// and returns the next carry in groups of the same sizes.
///
/// # Panics
/// When groups differ in size; and where [`BaseTensor::repeat`] does.
///
/// ```
/// use polygrad::base::{Group, repeat_grouped};
/// use polygrad::{Array, BaseTensor, ops::{Binary, Compare, Discrete}};
/// // A number that is doubled while it is less than 10, and its derivative in the number at the start.
/// let (go, start): (Group<Array>, Group<Array>) =
///     ([Array::scalar(true)].into_iter().collect(), [Array::scalar(3.0), Array::scalar(1.0)].into());
/// let last = repeat_grouped(None, vec![go, start], &mut |carry| {
///     let doubled: Group<Array> = carry[1].iter().map(|x| x.binary(Binary::Add, x)).collect();
///     let less = Array::discrete(&Discrete::Compare(Compare::Lt), &[&doubled[0], &Array::scalar(10.0)]);
///     vec![[less].into_iter().collect(), doubled]
/// });
/// assert_eq!(last[1][..], [Array::scalar(12.0), Array::scalar(4.0)]);
/// ```
#[track_caller]
pub fn repeat_grouped<T: BaseTensor>(
    most: Option<usize>,
    init: Vec<Group<T>>,
    step: &mut dyn FnMut(Vec<Group<T>>) -> Vec<Group<T>>,
) -> Vec<Group<T>> {
    let sizes = |groups: &[Group<T>]| groups.iter().map(|group| group.len()).collect::<Vec<usize>>();
    let of_carry = sizes(&init);
    let mut misfit: Option<Vec<usize>> = None;
    let last = T::repeat(most, init.into_iter().flatten().collect(), &mut |mut carry| {
        let next = step(grouped(carry.clone(), &of_carry));
        let now = sizes(&next);
        if of_carry == now {
            return next.into_iter().flatten().collect();
        }
        // The misfit is reported after the loop, which ends here.
        misfit.get_or_insert(now);
        if let Some(go) = carry.first_mut() {
            *go = T::zeros(&[], DType::Bool);
        }
        carry
    });
    if let Some(now) = misfit {
        panic!(
            "repeat_grouped: the step must return the carry in groups as large as those it takes, but groups of {of_carry:?} \
             become groups of {now:?}; keep together what one value consists of"
        );
    }
    grouped(last, &of_carry)
}

/// The values in groups of these sizes.
fn grouped<T>(values: Vec<T>, sizes: &[usize]) -> Vec<Group<T>> {
    let mut values = values.into_iter();
    sizes.iter().map(|n| values.by_ref().take(*n).collect()).collect()
}
