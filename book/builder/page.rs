//! The page on which one draws a digit: one script that has all, so that the page works from a disk as from a server.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use paddle::data::augment::{rotate, shift};
use paddle::data::{Image, digits, split};
use paddle::reader::{DataSet, Random, Reader};
use paddle::updater::schedule::cosine;
use paddle::{Adam, Options, Parameters, Trainer, test};
use paddle_draw::digit;
use wasm_bindgen_cli_support::Bindgen;

/// What browsers know of a program.
const TARGET: &str = "wasm32-unknown-unknown";

/// How often all digits are gone through.
const PASSES: usize = 60;

/// Writes a script: `drawADigit(element)` of it has the trained network. The network is trained once, and its parameters are then in `target/book-digits.safetensors`.
///
/// # Errors
/// Those of training, and of building for a browser, which needs Rust's target `wasm32-unknown-unknown`.
pub fn write_script(path: &Path) -> Result<Size, Box<dyn Error>> {
    let parameters = fs::read(parameters()?)?;
    let mut output =
        Bindgen::new().input_path(program()?).no_modules(true)?.typescript(false).generate_output()?;
    let program = output.wasm_mut().emit_wasm();
    let script = format!(
        "{}\nconst draw = {{ program: '{}', parameters: '{}' }};\n{}",
        output.js(),
        BASE64_STANDARD.encode(&program),
        BASE64_STANDARD.encode(&parameters),
        include_str!("../draw/page.js"),
    );
    fs::write(path, script)?;
    Ok(Size { program: program.len(), parameters: parameters.len() })
}

/// Bytes of what a browser gets.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Of the program, for WebAssembly.
    pub program: usize,
    /// Of the file of parameters.
    pub parameters: usize,
}

/// The file of the trained network's parameters.
///
/// # Errors
/// Those of training.
pub fn parameters() -> Result<PathBuf, Box<dyn Error>> {
    let file = target().join("book-digits.safetensors");
    if !file.exists() {
        println!("trained to draw: test_accuracy={:.4}", train(&file)?);
    }
    Ok(file)
}

fn target() -> PathBuf {
    root().join("target")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("")
}

/// Trains the network on the embedded digits, turned and shifted a little, and returns its accuracy on those that are held out.
fn train(file: &Path) -> Result<f64, Box<dyn Error>> {
    let (training, testing) = split(digits::images(), 5);
    let cost = digit::cost();
    let mut parameters = Parameters::create_with_seed(&cost, 1)?;
    let rate = cosine(2e-3, (PASSES * training.len().div_ceil(64)) as u64);
    let moved = |(image, mut random): (&Image<8, 8>, Random)| {
        let mut pixels = image.pixels;
        rotate(&mut pixels, 24.0 * random.uniform() - 12.0, 0.0);
        shift(&mut pixels, 0, random.between(-1, 1), 0.0);
        digit::cost::Row { image: pixels, label: image.label }
    };
    let reader = training
        .iter()
        .passes(PASSES)
        .shuffle(training.len())
        .seed(1)
        .with_random(1)
        .map_data(moved)
        .batch(64);
    Trainer::new(Adam::new(rate)).seed(1).train(
        &cost,
        &mut parameters,
        reader,
        Options::default(),
        |_| Ok(()),
    )?;
    let rows = testing.iter().map(|image| digit::cost::Row { image: image.pixels, label: image.label });
    let tested = test(&cost, &parameters, rows.collect::<Vec<_>>().iter().batch(256))?;
    parameters.save(file)?;
    Ok(f64::from(tested.metric("accuracy").unwrap_or_default()))
}

/// Builds `paddle-draw` for a browser, and returns where the program is.
fn program() -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--package", "paddle-draw", "--profile", "page", "--target", TARGET])
        .env("CARGO_TARGET_DIR", target())
        .current_dir(root())
        .status()?;
    if !status.success() {
        return Err(format!(
            "the program for browsers was not built, see above; it needs `rustup target add {TARGET}`"
        )
        .into());
    }
    Ok(target().join(TARGET).join("page").join("paddle_draw.wasm"))
}
