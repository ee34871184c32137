//! How much a network of 50 layers adds to `cargo check`: `cargo bench --bench expansion`.
//!
//! A crate is checked with the network and without it, by turns, its dependencies built; the difference of the medians
//! is what parsing, checking, compiling and emitting the network costs, and rustc's work on what is emitted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const LAYERS: usize = 50;
const ROUNDS: usize = 10;

fn main() {
    for (name, profile) in [
        ("macro as it is built by default", ""),
        ("build-override opt-level = 3", "\n[profile.dev.build-override]\nopt-level = 3\n"),
    ] {
        let user = User::new(profile);
        // Rustc reads the traits that a network implements once per crate, however many networks there are.
        for (beside, rest) in [("an empty crate", ""), ("a crate with a small network", SMALL)] {
            let (mut with, mut without) = (Vec::new(), Vec::new());
            let whole = format!("{rest}{}", model());
            user.check(rest);
            for _ in 0..ROUNDS {
                with.push(user.check(&whole));
                without.push(user.check(rest));
            }
            let [with, without] = [median(with), median(without)];
            let added = with.saturating_sub(without);
            println!(
                "{name}, {beside}: {with:.0?} with the network, {without:.0?} without: it adds {added:.1?}"
            );
        }
    }
}

const SMALL: &str = "
#[paddle::attribute::network]
pub mod line {
    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        mean(square(fc(x, 1) - y))
    }
}
";

/// A network of [`LAYERS`] layers, two statements each.
fn model() -> String {
    let mut body = String::from("        let mut h = x;\n");
    for layer in 0..LAYERS {
        body +=
            &format!("        let hidden{layer} = fc(h, 64, act = relu);\n        h = hidden{layer} + h;\n");
    }
    format!(
        "#[paddle::attribute::network]\npub mod deep {{\n    pub fn cost(x: Tensor<f32, _, 64>, y: Tensor<f32, _, 64>) -> \
         Tensor<f32> {{\n{body}        mean(square(h - y))\n    }}\n}}\n"
    )
}

/// A crate that depends on `paddle`.
struct User {
    folder: PathBuf,
}

impl User {
    fn new(profile: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(if profile.is_empty() {
            "plain"
        } else {
            "optimised"
        });
        fs::create_dir_all(folder.join("src")).expect("a folder for the crate");
        let manifest = format!(
            "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\npaddle = {{ package = \"paddle-rs\", path = {root:?} \
             }}\n\n[workspace]\n{profile}"
        );
        fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest for the crate");
        User { folder }
    }

    /// The time of `cargo check` after the source has changed.
    fn check(&self, source: &str) -> Duration {
        fs::write(self.folder.join("src/lib.rs"), source).expect("a source for the crate");
        let start = Instant::now();
        let status = Command::new(env!("CARGO"))
            .args(["check", "--quiet", "--offline"])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .status()
            .expect("cargo");
        assert!(status.success(), "the network does not compile");
        start.elapsed()
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
