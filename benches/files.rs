//! What it takes to save a checkpoint of 100 MB, to resume from it and to verify it: `cargo bench --bench files -- FOLDER`. In a
//! folder in memory, as `/dev/shm` is, that is what it takes without a disk.

use std::path::PathBuf;
use std::time::Instant;

use paddle::{Error, Parameters, Sgd, Trainer, checkpoint};

#[paddle::attribute::network]
mod nets {
    pub fn cost(x: Tensor<f32, _, 5000>) -> Tensor<f32> {
        mean(square(fc(x, 5000, param = "large")))
    }
}

/// The least time of several, in milliseconds.
fn least(name: &str, mut action: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut least = f64::INFINITY;
    for _ in 0..12 {
        let begin = Instant::now();
        action()?;
        least = least.min(1e3 * begin.elapsed().as_secs_f64());
    }
    println!("{name}: {least:.1} ms");
    Ok(())
}

fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).filter(|argument| !argument.starts_with('-'));
    let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    let path = folder.join(format!("paddle-bench-{}.checkpoint", std::process::id()));
    let net = nets::cost();
    let mut parameters = Parameters::create(&net)?;
    let mut trainer = Trainer::new(Sgd::new(0.1));
    least("save", || trainer.save_checkpoint(&net, &parameters, &path))?;
    least("resume", || trainer.resume(&net, &mut parameters, &path).map(drop))?;
    least("verify", || checkpoint::verify(&path).map(drop).map_err(Error::from))?;
    for path in [&path, &checkpoint::previous(&path)] {
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}
