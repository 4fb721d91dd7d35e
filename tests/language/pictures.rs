//! The examples with pictures: what they print is the text of their pages in `docs/examples`, and what they draw is in
//! `docs/pictures`. `make bless` writes both anew, but for the examples of `SLOW_PICTURES` in the Makefile, whose full settings are
//! drawn by `make pictures`; of their pages the reports of small settings are compared.

#![allow(clippy::duplicate_mod, reason = "each example is a program of its own, with the module of pictures")]

use std::fs;

use polygrad::Tree;
use polygrad::backend::compile;
use polygrad::program::Program;

use super::examples::assert_printed_in;
use crate::root::root;

#[allow(dead_code)]
#[path = "../../examples/pictures/arm.rs"]
mod arm;
#[allow(dead_code)]
#[path = "../../examples/pictures/branch_and_bound.rs"]
mod branch_and_bound;
#[allow(dead_code)]
#[path = "../../examples/pictures/character.rs"]
mod character;
#[allow(dead_code)]
#[path = "../../examples/pictures/convolutional.rs"]
mod convolutional;
#[allow(dead_code)]
#[path = "../../examples/pictures/deconvolution.rs"]
mod deconvolution;
#[allow(dead_code)]
#[path = "../../examples/pictures/epidemic.rs"]
mod epidemic;
#[allow(dead_code)]
#[path = "../../examples/pictures/firmware.rs"]
mod firmware;
#[allow(dead_code)]
#[path = "../../examples/pictures/flow.rs"]
mod flow;
#[allow(dead_code)]
#[path = "../../examples/pictures/gaussian_process.rs"]
mod gaussian_process;
#[allow(dead_code)]
#[path = "../../examples/pictures/greeks.rs"]
mod greeks;
#[allow(dead_code)]
#[path = "../../examples/pictures/kalman.rs"]
mod kalman;
#[allow(dead_code)]
#[path = "../../examples/pictures/lotka_volterra.rs"]
mod lotka_volterra;
#[allow(dead_code)]
#[path = "../../examples/pictures/molecules.rs"]
mod molecules;
#[allow(dead_code)]
#[path = "../../examples/pictures/neuron.rs"]
mod neuron;
#[allow(dead_code)]
#[path = "../../examples/pictures/poisson.rs"]
mod poisson;
#[allow(dead_code)]
#[path = "../../examples/pictures/quantum.rs"]
mod quantum;
#[allow(dead_code)]
#[path = "../../examples/pictures/registration.rs"]
mod registration;
#[allow(dead_code)]
#[path = "../../examples/pictures/taylor.rs"]
mod taylor;
#[allow(dead_code)]
#[path = "../../examples/pictures/topology.rs"]
mod topology;
#[allow(dead_code)]
#[path = "../../examples/pictures/vae.rs"]
mod vae;

/// The numbers of a picture, and its text without them.
fn numbers(svg: &str) -> (Vec<f64>, String) {
    let of_number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let numbers = svg.split(|c| !of_number(c)).filter_map(|word| word.parse().ok()).collect();
    (numbers, svg.replace(of_number, ""))
}

/// Whether the same is drawn at the same places, up to a quarter of a pixel.
fn same_picture(a: &str, b: &str) -> bool {
    let ((x, a), (y, b)) = (numbers(a), numbers(b));
    a == b && x.len() == y.len() && x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1.0)
}

/// Compares a picture with that in the documentation.
pub(crate) fn assert_drawn(name: &str, svg: &str) {
    let path = root().join("docs/pictures").join(name).with_extension("svg");
    if same_picture(svg, &fs::read_to_string(&path).unwrap_or_default()) {
        return;
    }
    assert!(std::env::var_os("UPDATE_EXPECT").is_some(), "the picture {name} is old: run `make bless`, and look at it");
    fs::write(&path, svg).expect("the picture can be written");
}

/// Runs an example, and compares what it prints and draws.
fn assert_shown(name: &str, run: impl FnOnce(&mut Vec<u8>) -> Result<String, Box<dyn std::error::Error>>) {
    let mut out = Vec::new();
    let svg = run(&mut out).expect("the example succeeds");
    assert_printed_in(&format!("docs/examples/{name}.md"), &String::from_utf8(out).expect("a report is text"), 0.01);
    assert_drawn(name, &svg);
}

/// As below, the full number of steps takes too long: by few, the torques must give the energy that the arm gains.
#[test]
fn the_motion_of_an_arm_is_planned() {
    let mut out = Vec::new();
    let svg = arm::run(3, 60, &mut out).expect("a motion is planned");
    let report = String::from_utf8(out).expect("a report is text");
    let page = fs::read_to_string(root().join("docs/examples/arm.md")).expect("the page can be read");
    let numbers = |text: &str, row: &str| -> Vec<f64> {
        let row = text.lines().find(|line| line.starts_with(row)).expect("a row");
        row.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let [plain, planned, shown] =
        [(&report, "plain "), (&report, "planned "), (&page, "plain ")].map(|(text, row)| numbers(text, row));
    // Effort, load, speed, energies; how exact the playback is depends on its steps.
    assert!(plain[..5].iter().zip(&shown).all(|(x, y)| (x - y).abs() < 0.02 * y), "{report}");
    assert!((planned[3] - planned[4]).abs() < 1e-3 && planned[0] < plain[0], "{report}");
    // Seven poses of each motion.
    assert_eq!(svg.matches("<circle").count(), 14);
}

/// The full setting takes too long without optimization: a small one must learn, print what the page says, and be
/// drawn.
#[test]
fn a_text_is_learnt_letter_by_letter() {
    let size = character::Size { hidden: 16, window: 20, batch: 4, updates: 40, look: 4 };
    let file = std::env::temp_dir().join(format!("polygrad-{}.safetensors", std::process::id()));
    let mut out = Vec::new();
    let curve = character::run(character::STORY, &size, &file, &mut out).expect("the model is trained and loaded");
    fs::remove_file(&file).expect("the parameters were saved");
    let [first, last] = [curve.held_out[0], curve.held_out[curve.held_out.len() - 1]];
    assert!(last < first && last < 4.5, "a uniform guess takes 5.3 bits, and after 40 updates it is {last}");
    let report = String::from_utf8(out).expect("a report is text");
    assert!(report.contains("---\nThe keeper of the li"), "{report}");
    // What it writes after so few updates is a matter of rounding.
    let table = report.split("---").next().expect("a table");
    let small = format!("16 cells, batches of 4 texts of 20 letters, 40 updates\n{table}");
    assert_printed_in("docs/examples/character.md", &small, 0.02);
    let svg = curve.draw().expect("a picture");
    assert_eq!(["#1F5AA0", "#C85014"].map(|colour| svg.matches(colour).count()), [2, 2], "two lines and their samples");
}

/// What can be known of the full report without training: the number of parameters, the updates, and what was read.
#[test]
fn the_full_report_is_of_the_full_setting() {
    let path = root().join("docs/examples/character.md");
    let page = fs::read_to_string(path).expect("the page can be read");
    let start = page.find("```text\nupdate ").expect("a report") + "```text\n".len();
    let report = &page[start..start + page[start..].find("```").expect("its end")];
    let (table, written) = report.split_once("---\n").expect("a table, and what is written");
    let (story, full) = (character::STORY, &character::FULL);
    let mut letters: Vec<char> = story.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    let (n, h) = (letters.len(), full.hidden);
    let parameters = n * h / 2 + (h / 2 + 1) * 4 * h + h * 4 * h + h * n + n;
    assert_eq!(table.lines().last(), Some(&format!("{parameters} parameters, saved and loaded")[..]));
    let updates = table.lines().filter_map(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    let mut updates: Vec<usize> = updates.filter(|k| *k != parameters).collect();
    assert_eq!(updates.pop(), Some(full.updates));
    assert!(updates.iter().all(|k| k % full.look == 0), "{updates:?}");
    let read: String = story.chars().take(full.window).collect();
    assert!(written.starts_with(&read) && written.chars().all(|c| letters.contains(&c)), "{written}");
    assert_eq!(written.trim_end_matches('\n').chars().count(), full.window + 401);
}

/// As for the text, the full setting takes too long.
#[test]
fn a_convolutional_network_learns_to_read() {
    let size = convolutional::Size { channels: [4, 8, 8], batch: 20, updates: 60, look: 30 };
    let mut out = Vec::new();
    let curve = convolutional::train(&size, 1, &mut out).expect("the network is trained");
    let [first, last] = [0, 1].map(|k| curve.held_out[k]);
    assert!(
        last < first && last < 75.0,
        "a guess reads nine of ten images wrongly, and after 60 updates it is {last} %"
    );
    let report = String::from_utf8(out).expect("a report is text");
    let small = format!("channels 4, 8, 8, batches of 20 images, 60 updates\n{report}");
    assert_printed_in("docs/examples/convolutional.md", &small, 0.02);
    let svg = curve.draw().expect("a picture");
    assert_eq!(["#1F5AA0", "#C85014"].map(|colour| svg.matches(colour).count()), [2, 2], "two lines and their samples");
}

/// A setting for tests without optimization.
const SMALL_VAE: vae::Size = vae::Size { hidden: 24, latent: 4, batch: 10, epochs: 6, images: 300, rate: 0.02 };

/// As for the text, the full setting takes too long.
#[test]
fn an_autoencoder_learns_to_draw() {
    let mut out = Vec::new();
    let learnt = vae::run(&SMALL_VAE, 1, &mut out).expect("the networks are trained");
    for bounds in &learnt.bounds {
        assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{bounds:?}");
        // Of all images, with the mean of each pixel as its distribution, whatever the vector.
        assert!(bounds[5] > -252.7, "{bounds:?}");
    }
    let report = String::from_utf8(out).expect("a report is text");
    let small = format!("24 cells, 4 numbers for an image, batches of 10 images, 6 epochs\n{report}");
    assert_printed_in("docs/examples/vae.md", &small, 0.02);
    let svg = learnt.draw().expect("a picture");
    assert_eq!(["#1F5AA0", "#C85014"].map(|colour| svg.matches(colour).count()), [2, 2], "two lines and their samples");
    assert!(learnt.drawn.iter().all(|p| (0.0..=1.0).contains(p)));
}

/// All epochs as one program, whose random numbers are those of its key wherever it runs.
#[test]
fn the_training_of_an_autoencoder_is_one_program() {
    let size = vae::Size { epochs: 2, images: 100, hidden: 128, ..SMALL_VAE };
    let (now, data) = vae::start(&size, 1).expect("the images can be read");
    let training = vae::training(&size, &now, &data);
    assert!(training.explain().contains("in up to"), "no step has parts for threads: {}", training.explain());
    let bits = |leaves: Vec<polygrad::Array>| serde_json::to_string(&leaves).expect("they can be saved");
    let [one, two] = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        bits(pool.install(|| training.run_with(&now, &data)).expect("it fits").leaves())
    });
    assert!(one == two, "two threads change the result");
    let saved = serde_json::to_string(training.optimized()).expect("it can be saved");
    let loaded: Program = serde_json::from_str(&saved).expect("it can be loaded");
    let inputs = [now.leaves(), data.leaves()].concat();
    assert!(one == bits(compile(&loaded).run(&inputs)), "saving and loading change the result");
    let (images, held_out, _) = &data;
    let other = (images.clone(), held_out.clone(), polygrad::random::Key::new(9));
    assert!(one != bits(training.run_with(&now, &other).expect("it fits").leaves()), "the key has no effect");
}

#[test]
fn the_epidemic_is_as_in_the_documentation() {
    assert_shown("epidemic", |out| epidemic::run(out));
}

/// As for the text, the full number of steps takes too long.
#[test]
fn the_blur_of_a_photograph_is_found() {
    let mut out = Vec::new();
    let svg = deconvolution::run(3, &mut out).expect("the photograph is sharpened");
    let report = String::from_utf8(out).expect("a report is text");
    let (blur, decibels) = report.split_once("---\n").expect("two tables");
    assert_printed_in("docs/examples/deconvolution.md", blur, 0.01);
    let decibels: Vec<f64> = decibels.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(decibels[2] > decibels[0] + 0.3, "three steps must sharpen the photograph, but the table is {decibels:?}");
    assert_eq!(svg.matches("<image").count(), 4);
}

/// As for the text, the full number of steps takes too long: by few, free samples must be better than three constants.
#[test]
fn the_pulse_of_a_qubit_is_shaped() {
    let mut out = Vec::new();
    let svg = quantum::run(&[10], 25, &mut out).expect("pulses are shaped");
    let report = String::from_utf8(out).expect("a report is text");
    let page = fs::read_to_string(root().join("docs/examples/quantum.md")).expect("the page can be read");
    let rows: Vec<&str> = report.lines().collect();
    for row in &rows[..3] {
        assert!(page.contains(row), "the page has no line {row}");
    }
    let error = |row: &str| row.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).find(|x| *x < 1.0);
    let [with_drag, free] = [2, 3].map(|row| error(rows[row]).expect("an error"));
    assert!(free < 0.2 * with_drag, "{report}");
    // A point of each pulse, and one in the legend.
    assert_eq!(svg.matches("<circle").count(), 4);
}

/// As for the text, the full number of steps takes too long.
#[test]
fn sections_of_a_brain_are_registered() {
    let mut out = Vec::new();
    let svg = registration::run(6, &mut out).expect("the sections are registered");
    let report = String::from_utf8(out).expect("a report is text");
    let page = fs::read_to_string(root().join("docs/examples/registration.md")).expect("the page can be read");
    for line in report.lines().skip(1).take(2) {
        let (before, after) = line.split_once(" %").expect("two differences");
        assert!(page.contains(before), "the page has no line that begins with {before}");
        let [before, after] =
            [before, after].map(|s| s.split_whitespace().filter_map(|x| x.parse::<f64>().ok()).next_back());
        assert!(after < before.map(|x| 0.7 * x), "six steps must bring the sections together: {line}");
    }
    assert_eq!(svg.matches("<image").count(), 6);
}

#[test]
fn the_flight_is_as_in_the_documentation() {
    assert_shown("firmware", |out| firmware::run(out));
}

/// As for the text, the full setting takes too long: a small one must learn.
#[test]
fn a_flow_learns_where_earthquakes_happen() {
    let size = flow::Size { hidden: 8, batch: 32, updates: 60, drawn: 10, columns: 9 };
    let mut out = Vec::new();
    let svg = flow::run(&size, &mut out).expect("the flow is trained");
    let report = String::from_utf8(out).expect("a report is text");
    let (losses, nats) = report.split_once("nats").expect("two parts");
    let nats: Vec<f64> = nats.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [_, _, before, after] = nats[..] else { panic!("{report}") };
    assert!(after > before + 0.02, "{report}");
    // The distributions beside the flow do not depend on the setting.
    let page = fs::read_to_string(root().join("docs/examples/flow.md")).expect("the page can be read");
    for line in report.lines().filter(|line| line.starts_with("a normal") || line.starts_with("one around")) {
        assert!(page.contains(line), "the page has no line {line}");
    }
    assert!(losses.starts_with("800 places to learn from, 200 held out"), "{report}");
    // Places held out, places drawn, and two in the legends.
    assert_eq!(svg.matches("<circle").count(), 212);
}

#[test]
fn the_gaussian_process_is_as_in_the_documentation() {
    assert_shown("gaussian_process", |out| gaussian_process::run(out));
}

/// The full number of draws takes too long: by few, bumps must agree with derivatives.
#[test]
fn the_greeks_of_an_option_are_those_by_bumps() {
    let mut out = Vec::new();
    let svg = greeks::run(20, &mut out).expect("the option is priced");
    let report = String::from_utf8(out).expect("a report is text");
    let page = fs::read_to_string(root().join("docs/examples/greeks.md")).expect("the page can be read");
    let rows: Vec<&str> = report.lines().filter(|line| line.contains(" % ")).collect();
    assert_eq!(rows.len(), 4, "{report}");
    for row in rows {
        let (asset, greeks) = row.split_once(" % ").expect("a volatility");
        assert!(page.contains(asset), "the page has no line that begins with {asset}");
        let greeks: Vec<f64> = greeks.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let near = |pair: &[f64]| (pair[0] - pair[1]).abs() < 2e-4;
        assert!(greeks.len() == 6 && greeks.chunks(2).all(near), "{row}");
    }
    // A point for each level, and one in the legend.
    assert_eq!(svg.matches("<circle").count(), 42);
}

/// The full number of steps takes too long: by few of a small box, the gas is that of the page, and energy is conserved.
#[test]
fn molecules_keep_their_energy() {
    let size = molecules::Size { cells: 2, groups: 2, blocks: 2, free: 20 };
    let mut out = Vec::new();
    let svg = molecules::run(&size, &mut out).expect("the liquid is simulated");
    let report = String::from_utf8(out).expect("a report is text");
    let page = fs::read_to_string(root().join("docs/examples/molecules.md")).expect("the page can be read");
    let (gas, liquid) = report.split_once("the liquid").expect("two parts");
    assert!(page.contains(gas), "the page has another gas than {gas}");
    let before = |unit: &str, line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(2).find(|pair| pair[1] == unit).and_then(|pair| pair[0].parse::<f64>().ok())
    };
    let energies: Vec<f64> = liquid.lines().filter_map(|line| before("K", line)).collect();
    assert!(energies.len() == 2 && energies[1] < 0.05 * energies[0], "{liquid}");
    // The virial coefficients, the measured distances, and two in the legends.
    assert_eq!(svg.matches("<circle").count(), 42);
}

#[test]
fn the_level_of_the_nile_is_as_in_the_documentation() {
    assert_shown("kalman", |out| kalman::run(out));
}

#[test]
fn the_fit_of_hares_and_lynxes_is_as_in_the_documentation() {
    assert_shown("lotka_volterra", |out| lotka_volterra::run(out));
}

#[test]
fn the_voltage_clamp_of_a_neuron_is_as_in_the_documentation() {
    assert_shown("neuron", |out| neuron::run(out));
}

#[test]
fn the_solution_of_poisson_s_equation_is_as_in_the_documentation() {
    assert_shown("poisson", |out| poisson::run(out));
}

/// As for the text, the full number of elements takes too long: by few, a beam gets stiffer, and its derivatives are known.
#[test]
fn material_goes_where_it_carries_the_load() {
    let mut out = Vec::new();
    let svg = topology::run([18, 6], &mut out).expect("the beam is optimized");
    let report = String::from_utf8(out).expect("a report is text");
    let (steps, checks) = report.split_once("---\n").expect("two tables");
    let column = |line: &str, k: usize| line.split_whitespace().nth(k).and_then(|x| x.parse::<f64>().ok());
    let compliances: Vec<f64> = steps.lines().filter_map(|line| column(line, 1)).collect();
    let [first, last] = [compliances[0], compliances[compliances.len() - 1]];
    assert!(last < 0.45 * first, "the compliance must fall by half: {steps}");
    let page = fs::read_to_string(root().join("docs/examples/topology.md")).expect("the page can be read");
    let by_hand = checks.lines().next().expect("a line");
    assert!(by_hand.ends_with("rounding") && page.contains(by_hand), "{checks}");
    let numbers: Vec<f64> = checks.split_whitespace().filter_map(|x| x.trim_end_matches(',').parse().ok()).collect();
    assert!(numbers.len() == 3 && (numbers[1] - numbers[2]).abs() < 2e-4 * (1.0 + numbers[1].abs()), "{checks}");
    assert_eq!(svg.matches("<image").count(), 4);
}

#[test]
fn pictures_are_told_apart() {
    assert!(same_picture(r#"<line x="10" y="20"/>"#, r#"<line x="11" y="20"/>"#));
    assert!(!same_picture(r#"<line x="10" y="20"/>"#, r#"<line x="12" y="20"/>"#));
    assert!(!same_picture(r#"<line x="10" y="20"/>"#, r#"<line x="10" z="20"/>"#));
    assert!(!same_picture(r#"<line points="1,2 3,4"/>"#, r#"<line points="1,2 3,4 "/>"#));
}

#[test]
fn least_values_are_bounded_as_on_their_page() {
    use branch_and_bound::By;
    let mut out = Vec::new();
    let (found, svg) = branch_and_bound::run(&mut out).expect("the arguments fit");
    // Known to as many digits as these.
    let least = [("camel", -1.031_628_453_489_877), ("mccormick", -1.913_222_954_981_037), ("rastrigin", 0.0)];
    for (name, least) in least {
        let ways: Vec<_> = found.iter().filter(|found| found.name == name).collect();
        for found in &ways {
            let [lower, upper] = found.least;
            assert!(lower <= least + 1e-14 && upper >= least - 1e-14, "{name} by {:?}: {lower} to {upper}", found.by);
            assert!(found.by == By::Range || upper - lower <= 1e-6, "{name} by {:?}: {lower} to {upper}", found.by);
        }
        assert!(
            ways.windows(2).all(|pair| pair[0].boxes.len() >= pair[1].boxes.len()),
            "each way knows more than the one before"
        );
    }
    let report = String::from_utf8(out).expect("a report is text");
    assert_printed_in("docs/examples/branch_and_bound.md", &report, 0.02);
    assert_drawn("branch_and_bound", &svg);
}

#[test]
fn the_orbit_is_as_in_the_documentation() {
    assert_shown("taylor", |out| taylor::run(out));
}
