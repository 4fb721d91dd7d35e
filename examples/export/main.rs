//! A training step that leaves this library: the network of the example `digits` is trained by a program that was exported
//! as StableHLO, here on a PJRT plugin, and in Python by XLA on several devices.
//!
//! `cargo run --release --example export FOLDER [--pjrt PLUGIN [DEVICES] | --models]`
//!
//! The step is one program: parameters, the optimizer's state and a batch go in; the loss, new parameters and a new state
//! come out. The example trains with it in this library, and writes to the folder
//! - `step.mlir` and `step.json`: the program, and what it takes and gives;
//! - `sharded.mlir` and `sharded.json`: the same for eight devices, among which each batch is divided;
//! - `data.json` and files of numbers that it names: the images, which of them are in which batch, the parameters at the
//!   start, and the losses of all steps, which whoever runs the program must get up to rounding.
//!
//! `python/train_digits.py FOLDER` reads them. With `--pjrt` the same training runs on a plugin in this process, its
//! parameters on the plugin's device all the time, or on several devices, among which each batch is divided. With `--models`
//! gradients of other networks are written, to be measured.

#[allow(dead_code)]
#[path = "../digits.rs"]
mod digits;
mod files;
mod models;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use polygrad::array::Rng;
use polygrad::export::{Exported, Mesh};
use polygrad::optim::{Optimizer, Sgd, State};
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, Tree, pjrt, value_and_grad_with};

use digits::{Batch, HELD_OUT, Image, Network, accuracy, batch, loss, network, read};
use files::Files;

const EPOCHS: usize = 10;
/// A multiple of 8, so that 8 devices can share a batch. The images of an incomplete batch wait for the next epoch.
const BATCH: usize = 40;

type Failure = Box<dyn std::error::Error>;

/// What a step changes: parameters, and what the optimizer remembers.
type Learner<T> = (Network<T>, State<T, Network<T>>);

fn optimizer() -> Sgd {
    Sgd::new(0.05).momentum(0.9)
}

/// The loss of a batch, and the learner after it.
fn step<T: BaseTensor>((net, state): &Learner<T>, batch: &Batch<T>) -> (Tensor<T, 0>, Learner<T>) {
    let (value, gradient) = value_and_grad_with(loss, net, batch);
    (value, optimizer().update(net, &gradient, state))
}

/// The data set, and which images each batch has.
struct Plan {
    rows: Vec<Image>,
    held_out: Vec<usize>,
    batches: Vec<Vec<usize>>,
}

impl Plan {
    fn new(rng: &mut Rng) -> Result<Plan, Failure> {
        let rows = read()?;
        let order = rng.permutation(rows.len());
        let (held_out, train) = order.split_at(HELD_OUT);
        let (mut train, mut batches) = (train.to_vec(), Vec::new());
        for _ in 0..EPOCHS {
            rng.shuffle(&mut train);
            batches.extend(train.chunks_exact(BATCH).map(<[usize]>::to_vec));
        }
        Ok(Plan { held_out: held_out.to_vec(), rows, batches })
    }

    fn batch(&self, k: usize) -> Result<Batch<Concrete>, Failure> {
        batch(&self.rows, &self.batches[k])
    }

    /// How many of the images that were held out are read correctly.
    fn right(&self, net: &Network<Concrete>) -> Result<f64, Failure> {
        Ok((accuracy(net, &batch(&self.rows, &self.held_out)?) * HELD_OUT as f64).round())
    }

    /// Says how a training ended.
    fn tell(&self, where_: &str, net: &Network<Concrete>, losses: &[f64], time: Duration) -> Result<(), Failure> {
        let steps = self.batches.len();
        let (last, each) = (&losses[steps - steps / EPOCHS..], time.as_secs_f64() * 1e3 / steps as f64);
        let mean = last.iter().sum::<f64>() / last.len() as f64;
        println!(
            "{where_}: {steps} steps of {each:.3} ms, mean loss of the last epoch {mean:.4}, {} of {HELD_OUT} read correctly",
            self.right(net)?
        );
        Ok(())
    }
}

type Step = Function<Learner<Array>, Batch<Array>, (Tensor<Array, 0>, Learner<Array>)>;

/// Trains with this library.
fn train_here(plan: &Plan, step: &Step, start: &Learner<Array>) -> Result<Vec<f64>, Failure> {
    let (mut learner, mut losses, begin) = (start.clone(), Vec::new(), Instant::now());
    for k in 0..plan.batches.len() {
        let (value, next) = step.run_with(&learner, &plan.batch(k)?)?;
        losses.push(value.item());
        learner = next;
    }
    plan.tell("here", &learner.0, &losses, begin.elapsed())?;
    Ok(losses)
}

/// A plugin, and on how many of its devices to train.
struct Where {
    plugin: PathBuf,
    devices: usize,
}

/// Trains on a plugin: parameters and losses stay on its devices until the end.
fn train_there(plan: &Plan, exported: &Exported, start: &Learner<Array>, there: &Where) -> Result<Vec<f64>, Failure> {
    let client = pjrt::Client::load(&there.plugin)?;
    let mesh = Mesh::new(&[("batch", there.devices)]);
    let program = client.compile(&exported.sharded(&mesh, &[("data", 0, "batch")])?.text)?;
    let reductions = program.operations()?.get("all-reduce").copied().unwrap_or(0);
    println!("{} devices, all-reduces in a step: {reductions}", there.devices);
    let upload = |first: usize, arrays: Vec<Array>| {
        arrays.iter().enumerate().map(|(k, a)| program.upload(first + k, a)).collect::<Result<Vec<_>, _>>()
    };
    let (mut learner, mut losses, begin) = (upload(0, start.leaves())?, Vec::new(), Instant::now());
    for k in 0..plan.batches.len() {
        let data = upload(learner.len(), plan.batch(k)?.leaves())?;
        let inputs: Vec<&pjrt::Buffer> = learner.iter().chain(&data).collect();
        let mut results = program.execute(&inputs)?.into_iter();
        losses.extend(results.next());
        learner = results.collect();
    }
    let losses =
        losses.iter().map(|loss| Ok(loss.to_array()?.item::<f64>()?)).collect::<Result<Vec<f64>, Failure>>()?;
    let time = begin.elapsed();
    let arrays = learner.iter().map(pjrt::Buffer::to_array).collect::<Result<Vec<Array>, _>>()?;
    let (net, _) = start.with_leaves(arrays);
    plan.tell(&format!("on {} by {:?}", client.platform(), client.devices()[0]), &net, &losses, time)?;
    Ok(losses)
}

/// The largest difference of two curves, relative to the loss.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| ((a - b) / b).abs()).fold(0.0, f64::max)
}

fn write(
    folder: &Path,
    plan: &Plan,
    exported: &Exported,
    start: &Learner<Array>,
    losses: &[f64],
) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    let sharded = exported.sharded(&Mesh::new(&[("batch", 8)]), &[("data", 0, "batch")])?;
    for (name, exported) in [("step", exported), ("sharded", &sharded)] {
        fs::write(folder.join(name).with_extension("mlir"), &exported.text)?;
        fs::write(folder.join(name).with_extension("json"), serde_json::to_string_pretty(&exported.signature)?)?;
    }
    let mut files = Files::new(folder);
    let everything: Vec<usize> = (0..plan.rows.len()).collect();
    let (images, labels) = batch(&plan.rows, &everything)?;
    files.add("images", images.raw())?;
    files.add("labels", labels.raw())?;
    let indices: Vec<i64> = plan.batches.iter().flatten().map(|k| *k as i64).collect();
    files.add("batches", &Array::new(&[plan.batches.len(), BATCH], indices))?;
    files.add("losses", &Array::from(losses.to_vec()))?;
    for (port, leaf) in exported.signature.inputs.iter().zip(start.leaves()) {
        files.add(&format!("start/{}", port.path), &leaf)?;
    }
    files.finish("data.json")?;
    println!("written to {}", folder.display());
    Ok(())
}

fn main() -> Result<(), Failure> {
    let usage = "export FOLDER [--pjrt PLUGIN [DEVICES] | --models]";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let place = |plugin: &str, devices: usize| Some(Where { plugin: PathBuf::from(plugin), devices });
    let (folder, there) = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [folder] => (PathBuf::from(folder), None),
        [folder, "--models"] => return models::write_all(Path::new(folder)),
        [folder, "--pjrt", plugin] => (PathBuf::from(folder), place(plugin, 1)),
        [folder, "--pjrt", plugin, devices] => (PathBuf::from(folder), place(plugin, devices.parse()?)),
        _ => return Err(usage.into()),
    };
    let mut rng = Rng::new(1);
    let (plan, net) = (Plan::new(&mut rng)?, network(&mut rng));
    let start = (net.clone(), optimizer().init(&net));
    let step: Step = Function::stage_with(step, &start, &plan.batch(0)?);
    let losses = train_here(&plan, &step, &start)?;
    let exported = step.exported("step")?;
    write(&folder, &plan, &exported, &start, &losses)?;
    if let Some(there) = there {
        let there = train_there(&plan, &exported, &start, &there)?;
        let difference = difference(&there, &losses);
        println!("the two curves differ by {difference:.0e} of the loss at most");
        if difference.is_nan() || difference > 1e-12 {
            return Err("more than rounding explains".into());
        }
    }
    Ok(())
}
