//! What a program that only infers takes from its start to its first answer: a residual network of 20 layers (W8b), with
//! its parameters in a file, and one image.
//!
//!     cargo bench --bench first_answer
//!
//! The bench starts itself as that program, many times, and prints the least time of each stage, and the least of the
//! whole, which includes what the system takes to start and to end a process.

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ndarray::Array4;
use paddle::{Batch, Cpu, Load, Parameters, infer};

#[paddle::attribute::network]
mod resnet {
    fn convolution(
        x: _,
        filters: usize,
        #[default = 1] stride: usize,
        #[default = relu] act: Activation,
    ) -> _ {
        batch_norm(conv2d(x, filters, 3, stride = stride, padding = 1, bias = false), act = act)
    }

    fn keep(x: Tensor<f32, _, C, H, W>) -> Tensor<f32, _, C, H, W> {
        let way = convolution(x, C, param = "first");
        relu(convolution(way, C, act = identity, param = "second") + x)
    }

    fn halve(x: _, filters: usize) -> _ {
        let way = convolution(x, filters, stride = 2, param = "first");
        let way = convolution(way, filters, act = identity, param = "second");
        relu(way + batch_norm(conv2d(x, filters, 1, stride = 2, bias = false, param = ".around")))
    }

    pub fn probabilities(x: Tensor<f32, _, 3, 32, 32>) -> _ {
        let mut h = convolution(x, 16, param = "stem");
        for at in 0..3 {
            h = keep(h, param = "stage0.block{at}");
        }
        for (stage, filters) in [(1, 32), (2, 64)] {
            h = halve(h, filters, param = "stage{stage}.block0");
            for at in 1..3 {
                h = keep(h, param = "stage{stage}.block{at}");
            }
        }
        softmax(fc(global_pool2d(h, kind = avg), 10))
    }
}

type Run = Result<(), Box<dyn Error>>;

/// The name by which the program finds its file.
const FILE: &str = "FIRST_ANSWER_OF";
/// The stages, in their order.
const STAGES: [&str; 4] =
    ["main begins", "parameters are declared", "parameters are read", "the first answer"];
/// How often the program is started.
const STARTS: usize = 100;

fn main() -> ExitCode {
    let done = match env::var_os(FILE) {
        Some(file) => answer(Path::new(&file)),
        None => measure(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The program: prints when it reached each stage, since 1970.
fn answer(file: &Path) -> Run {
    let mut reached = vec![now()];
    let net = resnet::probabilities();
    let mut parameters = Parameters::create_on(Cpu::with_threads(1)?, &net, 0)?;
    reached.push(now());
    parameters.load(file, Load::Strict)?;
    reached.push(now());
    let image = Batch::new(&net)?.with("x", &Array4::<f32>::zeros([1, 3, 32, 32]))?;
    infer(&net, &parameters, &image)?;
    reached.push(now());
    let reached: Vec<String> = reached.iter().map(|time| time.as_nanos().to_string()).collect();
    println!("{}", reached.join(" "));
    Ok(())
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Starts the program many times, and prints the least times.
fn measure() -> Run {
    let file = env::temp_dir().join(format!("first-answer-{}.safetensors", std::process::id()));
    Parameters::create(&resnet::probabilities())?.save(&file)?;
    let (mut stages, mut whole) = ([f64::INFINITY; STAGES.len()], f64::INFINITY);
    for _ in 0..STARTS {
        let (since, begun) = (now(), Instant::now());
        let output = Command::new(env::current_exe()?).env(FILE, &file).output()?;
        whole = whole.min(begun.elapsed().as_secs_f64());
        let text = String::from_utf8_lossy(&output.stdout);
        for (stage, reached) in stages.iter_mut().zip(text.split_whitespace()) {
            let reached = Duration::from_nanos(reached.parse().unwrap_or(u64::MAX));
            *stage = stage.min(reached.saturating_sub(since).as_secs_f64());
        }
    }
    std::fs::remove_file(&file)?;
    for (name, seconds) in STAGES.iter().zip(stages) {
        println!("{name}: {:.2} ms", 1e3 * seconds);
    }
    println!("the program has ended: {:.2} ms", 1e3 * whole);
    Ok(())
}
