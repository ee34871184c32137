//! Random changes to real programs and to our own: nothing panics, and what is read is well-formed.

use std::path::Path;

use paddle_core::convert::{from_wire, legalise, load, load_recorded, load_to_train, model, to_wire};
use paddle_core::ops::Program;
use paddle_core::text;
use paddle_core::wire::ProgramDesc;

use crate::changes::Random;
use crate::fixtures::{read, shared};
use crate::golden;
use crate::legalise::is_paddle;

/// Reads a program after one to four changes, `rounds` times. How many were read.
fn fuzz(main: &ProgramDesc, startup: Option<&ProgramDesc>, rounds: usize, seed: u64) -> usize {
    let mut random = Random::new(seed, &[i64::MAX, i64::MIN, 1 << 31, 1 << 40]);
    let mut accepted = 0;
    for _ in 0..rounds {
        let mut changed = main.clone();
        for _ in 0..=random.below(3) {
            random.change(&mut changed);
        }
        if let Ok(program) = from_wire(&changed, startup) {
            accepted += 1;
            survives(&program);
        }
        // What can be run is read the same, and what cannot has reasons.
        if let Err(unsupported) = load(&changed) {
            assert!(!unsupported.faults.is_empty());
        }
    }
    accepted
}

/// What was read is well-formed, prints, and is read back the same.
pub(crate) fn survives(program: &Program) {
    program.verify().unwrap_or_else(|error| panic!("{error}\n{program}"));
    let wire = to_wire(program);
    let again =
        from_wire(&wire.main, Some(&wire.startup)).unwrap_or_else(|error| panic!("{error}\n{program}"));
    let shown = program.to_string();
    assert_eq!(again.to_string(), shown);
    let read = text::parse(&shown).unwrap_or_else(|error| panic!("{error}\n{program}"));
    assert_eq!(read.to_string(), shown);
    if let Ok(exported) = legalise(program) {
        is_paddle(&exported);
    }
}

#[test]
fn our_own_programs() {
    let programs = golden();
    let rounds = 8_000 / programs.len();
    for ((name, program), seed) in programs.iter().zip(1..) {
        let wire = to_wire(program);
        let accepted = fuzz(&wire.main, Some(&wire.startup), rounds, 0x9e37_79b9_7f4a_7c15 ^ seed);
        assert!(0 < accepted && accepted < rounds, "{name}: {accepted} of {rounds} are read");
    }
}

#[test]
fn programs_of_paddlepaddle() {
    let Some(shared) = shared() else { return };
    let programs = [
        ("mlp/model.pdmodel", 1_000),
        ("while_loop/model.pdmodel", 2_000),
        ("train_mlp_sgd/main.pdprogram", 500),
    ];
    for ((name, rounds), seed) in programs.into_iter().zip(1..) {
        let desc = read(&shared.join("fixtures").join(name));
        let accepted = fuzz(&desc, None, rounds, 0x2545_f491_4f6c_dd1d ^ seed);
        assert!(0 < accepted && accepted < rounds, "{name}: {accepted} of {rounds} are read");
    }
}

/// A model with the program that it carries, after each byte was changed: the program that was saved, what the rest means without it,
/// or an error.
#[test]
fn carried_programs() {
    let (mut same, mut other) = (0, 0);
    for (name, program) in golden() {
        let Ok(bytes) = model(&program) else { continue };
        let saved = load_to_train(&ProgramDesc::decode(&bytes).unwrap()).unwrap().to_string();
        assert_eq!(saved, from_wire(&to_wire(&program).main, None).unwrap().to_string(), "{name}");
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 200) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            for bytes in [&changed[..], &bytes[..at]] {
                let Ok(desc) = ProgramDesc::decode(bytes) else { continue };
                match load_to_train(&desc) {
                    Ok(program) if program.to_string() == saved => same += 1,
                    Ok(program) => {
                        other += 1;
                        survives(&program);
                    }
                    Err(unsupported) => assert!(!unsupported.faults.is_empty()),
                }
            }
        }
    }
    assert!(other > 0, "{same} the same, {other} others");
}

/// The operators of the cases that are in the repository.
#[test]
fn single_operators() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests/op_cases/kept");
    let files = std::fs::read_dir(folder).expect("the cases are in the repository");
    let mut programs: Vec<_> = files.map(|file| file.expect("it can be read").path()).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "pdprogram"));
    // Some have operators of their gradients, without which they are compared.
    let all = programs.len();
    programs.retain(|path| from_wire(&read(path), None).is_ok());
    assert_eq!(programs.len(), all - 2);
    programs.sort();
    let rounds = 2_000 / programs.len();
    for (path, seed) in programs.iter().zip(1..) {
        let accepted = fuzz(&read(path), None, rounds, 0x51_7cc1_b727 ^ seed);
        assert!(0 < accepted && accepted < rounds, "{path:?}: {accepted} of {rounds} are read");
    }
}

/// A recorded training is understood, or refused with reasons.
#[test]
fn trainings_of_paddlepaddle() {
    let Some(shared) = shared() else { return };
    for (name, seed) in ["train_mlp_sgd", "train_lenet_adam", "train_lstm_momentum"].into_iter().zip(1..) {
        let folder = shared.join("fixtures").join(name);
        let [main, startup] = ["main", "startup"].map(|name| read(&folder.join(format!("{name}.pdprogram"))));
        let mut random = Random::new(0x9e37_79b9 ^ seed, &[i64::MAX, i64::MIN, 1 << 31, 1 << 40]);
        let (rounds, mut accepted) = (400, 0);
        for _ in 0..rounds {
            let mut changed = main.clone();
            for _ in 0..=random.below(3) {
                random.change(&mut changed);
            }
            match load_recorded(&changed, Some(&startup), &[]) {
                Ok(recorded) => {
                    accepted += 1;
                    survives(&recorded.program);
                    assert!(!recorded.updates.is_empty());
                }
                Err(unsupported) => assert!(!unsupported.faults.is_empty()),
            }
        }
        assert!(0 < accepted && accepted < rounds, "{name}: {accepted} of {rounds} are understood");
    }
}
