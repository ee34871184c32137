//! A network that compares is run, not trained.

use models::gan;
use paddle::{Options, Parameters, Sgd, Trainer};

fn main() {
    let decide = gan::decide();
    let mut parameters = Parameters::create(&decide).unwrap();
    let mut trainer = Trainer::new(Sgd::new(0.1));
    let _ = trainer.train(&decide, &mut parameters, [vec![[0.0; 3]]], Options::default(), |_| Ok(()));
}
