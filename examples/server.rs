//! A server: threads that share one recorded function, and answer requests from a queue.
//!
//! `cargo run --release --example server`
//!
//! A book of options is known when the server starts; a request is a market, and its answer the value of the book with the
//! derivatives in all forward prices and volatilities. Value and gradient are recorded once, for this book, and every thread
//! runs the same `Function`. The queue is a channel of the standard library, in the place of a network.
//!
//! A run has its memory to itself, so answers do not depend on what other threads do: each has the bits that a lone thread
//! gets. A request that does not fit the program is answered by the sentence that says why, and the thread goes on.
//! `docs/examples/server.md` shows what is printed.

use std::error::Error;
use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use polygrad::array::Rng;
use polygrad::{BaseTensor, Concrete, Function, RunError, Tensor, Tree};

const THREADS: usize = 4;
/// Senders wait while as many requests wait.
const QUEUE: usize = 32;
const REQUESTS: usize = 2000;
const OPTIONS: usize = 60;
/// Of as many requests, one is malformed.
const MALFORMED: usize = 500;

/// The market of each option: its forward price and its volatility.
#[derive(Tree, Clone, Debug, PartialEq)]
pub(crate) struct Market<T: BaseTensor> {
    forward: Tensor<T, 1>,
    volatility: Tensor<T, 1>,
}

/// Call options, and how many there are of each.
#[derive(Tree, Clone, Debug)]
struct Book<T: BaseTensor> {
    strike: Tensor<T, 1>,
    years: Tensor<T, 1>,
    number: Tensor<T, 1>,
}

/// The distribution function of the normal distribution.
fn normal<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
    0.5 * (-x * 0.5_f64.sqrt()).erfc()
}

/// The value of a book by the formula of Black, without interest.
fn value<T: BaseTensor>(market: &Market<T>, book: &Book<T>) -> Tensor<T, 0> {
    let spread = &market.volatility * book.years.sqrt();
    let above = (&market.forward / &book.strike).ln() / &spread + 0.5 * &spread;
    let call = &market.forward * normal(&above) - &book.strike * normal(&(&above - spread));
    book.number.dot(&call)
}

/// The recorded function: a market to the value of the book, and its derivatives in the market.
type Pricer = Function<Market<Concrete>, (), (Tensor<Concrete, 0>, Market<Concrete>)>;
type Answer = Result<(Tensor<Concrete, 0>, Market<Concrete>), RunError>;

/// A market, its number, and where the answer goes.
struct Request {
    number: usize,
    market: Market<Concrete>,
    reply: Sender<(usize, Answer)>,
}

/// Answers requests until nobody can send any more.
fn serve(pricer: &Pricer, queue: &Mutex<Receiver<Request>>) {
    loop {
        // The lock ends with the statement: the next thread waits for a request while this one computes.
        let request = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Request { number, market, reply }) = request else { return };
        // Whoever has left needs no answer.
        let _ = reply.send((number, pricer.run(&market)));
    }
}

/// The market of a request: random, and now and then one option too small.
fn market(number: usize) -> Market<Concrete> {
    let mut rng = Rng::new(number as u64);
    let options = OPTIONS - usize::from(number % MALFORMED == MALFORMED - 1);
    Market { forward: rng.uniform([options], 80.0, 120.0), volatility: rng.uniform([options], 0.1, 0.4) }
}

/// The answers of a server with as many threads, in the order of the requests.
pub(crate) fn answers(pricer: &Pricer, threads: usize, requests: usize) -> Vec<Answer> {
    let (sender, receiver) = sync_channel(QUEUE);
    let (reply, replies) = channel();
    let queue = Mutex::new(receiver);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| serve(pricer, &queue));
        }
        for number in 0..requests {
            let request = Request { number, market: market(number), reply: reply.clone() };
            sender.send(request).expect("the queue lives as long as the scope");
        }
        // Threads end when the queue has no sender.
        drop(sender);
    });
    drop(reply);
    let mut answers: Vec<(usize, Answer)> = replies.into_iter().collect();
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The function of the book.
pub(crate) fn pricer() -> Result<Pricer, RunError> {
    let mut rng = Rng::new(0);
    let book = Book {
        strike: rng.uniform([OPTIONS], 90.0, 110.0),
        years: rng.uniform([OPTIONS], 0.1, 2.0),
        number: rng.normal([OPTIONS], 0.0, 10.0),
    };
    Function::value_and_grad_with(value, &market(0), &book).with_data(&book)
}

/// Serves requests, and says what came back.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let pricer = pricer()?;
    let answers = answers(&pricer, THREADS, REQUESTS);
    writeln!(out, "{REQUESTS} requests, {THREADS} threads, {} answers", answers.len())?;
    let alone = (0..REQUESTS).filter(|number| answers[*number] == pricer.run(&market(*number)));
    writeln!(out, "{} answers are those of one thread, to the bit", alone.count())?;
    let refused: Vec<&RunError> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    writeln!(out, "{} requests were refused:", refused.len())?;
    for (count, line) in refused.first().map_or(String::new(), ToString::to_string).split("; ").enumerate() {
        writeln!(out, "  {}{line}", if count == 0 { "" } else { "  " })?;
    }
    writeln!(out, "market    value  slope in forwards  in volatilities")?;
    for (number, answer) in answers.iter().enumerate().step_by(REQUESTS / 4) {
        let (value, slope) = answer.as_ref().map_err(ToString::to_string)?;
        let [forwards, volatilities] = [&slope.forward, &slope.volatility].map(|slope| slope.sum().item());
        writeln!(out, "{number:6} {:8.2} {forwards:18.3} {volatilities:16.1}", value.item())?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}
