//! Programs and batches with random changes. Whatever is changed in a program, and whatever is fed to it, it gives
//! values or a typed error. Nothing panics, hangs, or takes more memory than there is.

#[path = "../../../../paddle-core/tests/convert/changes.rs"]
mod changes;
mod lines;
mod trial;

use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use paddle_core::convert::{from_wire, to_wire};
use paddle_core::ops::Program;
use paddle_core::passes::hoist::hoist;
use paddle_core::passes::sink::sink;
use paddle_core::passes::split::split;
use paddle_core::text;
use paddle_core::wire::ProgramDesc;

use self::changes::Random;
use self::trial::{End, run};
use crate::gradients::differentiate;
use crate::loops;
use crate::nested;

/// The number of changed programs, unless `PADDLE_FUZZ_SECONDS` sets a duration.
const MUTANTS: u64 = 600;

/// Numbers for sizes that are larger than any memory.
const LARGE: &[i64] = &[i64::MAX, i64::MIN, 1 << 40, 1 << 62];

/// The most times that types are inferred again after a change.
const ROUNDS: usize = 32;

/// The time after which a single program counts as hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// The programs that are changed: written ones with loops and branches, and generated ones; each as it is, with
/// gradients, and after passes.
fn programs() -> Vec<Program> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paddle-core/tests/golden");
    let files = std::fs::read_dir(golden).expect("the golden files are in the repository");
    let mut paths: Vec<_> = files.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).expect("it can be read"));
    let mut programs: Vec<Program> =
        texts.map(|text| text::parse(&text).expect("it is well-formed")).collect();
    let loops = loops::PROGRAMS.iter().map(|(name, source)| text::parse(source).expect(name));
    let generated = (0..150).map(|seed| nested::draw_program(seed).1.program);
    for program in loops.chain(generated) {
        let mut moved = program.clone();
        for pass in [split, hoist, sink] {
            pass(&mut moved).expect("it is well-formed");
        }
        programs.push(differentiate(moved.clone()).program().clone());
        programs.extend([moved, program]);
    }
    programs
}

/// Checks that text and wire keep a program.
fn is_kept(program: &Program) {
    let shown = program.to_string();
    let read = text::parse(&shown).unwrap_or_else(|error| panic!("the text is refused: {error}\n{shown}"));
    assert_eq!(read.to_string(), shown);
    let wire = to_wire(program);
    let read = from_wire(&wire.main, Some(&wire.startup));
    let read = read.unwrap_or_else(|error| panic!("the wire is refused: {error}\n{shown}"));
    assert_eq!(read.to_string(), shown);
}

/// A changed program, or the reason why there is none.
fn changed(program: &Program, random: &mut Random) -> Result<Program, End> {
    if random.below(2) == 0 {
        let mut text = lines::change(&program.to_string(), random);
        for _ in 0..ROUNDS {
            let program = text::read(&text).map_err(|_| End::Unread)?;
            let Err(error) = program.verify() else { return Ok(program) };
            // Infers types again after the change, as far as possible.
            text = lines::retype(&text, &error).ok_or(End::Unverified)?;
        }
        return Err(End::Unverified);
    }
    let mut wire = to_wire(program);
    let initialises = program.parameters().next().is_some();
    let desc = if initialises && random.below(6) == 0 { &mut wire.startup } else { &mut wire.main };
    if random.below(6) == 0 {
        let mut bytes = desc.encode_to_vec();
        for _ in 0..=random.below(2) {
            let new = random.below(256) as u8;
            if let Some(byte) = random.pick(&mut bytes) {
                *byte = new;
            }
        }
        *desc = ProgramDesc::decode(&bytes).map_err(|_| End::Unread)?;
    } else {
        for _ in 0..=random.below(2) {
            random.change(desc);
        }
    }
    from_wire(&wire.main, Some(&wire.startup)).map_err(|_| End::Unread)
}

/// Aborts with the seed if one changed program takes too long.
struct Watch(Mutex<Option<(u64, Instant)>>);

impl Watch {
    fn set(&self, now: Option<u64>) {
        *self.0.lock().expect("nobody panics with it") = now.map(|seed| (seed, Instant::now()));
    }

    fn guard(&self) {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = *self.0.lock().expect("nobody panics with it");
            if let Some((seed, since)) = now
                && since.elapsed() > PATIENCE
            {
                eprintln!("mutant {seed} does not end");
                std::process::abort();
            }
        }
    }
}

static WATCH: Watch = Watch(Mutex::new(None));

#[test]
fn changed_programs_run_or_end_in_typed_errors() {
    let read = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seconds = read("PADDLE_FUZZ_SECONDS").map(Duration::from_secs);
    let first = read("PADDLE_FUZZ_SEED").unwrap_or(0);
    let programs = programs();
    std::thread::spawn(|| WATCH.guard());
    let (start, mut ends, mut failed) = (Instant::now(), BTreeMap::<End, u64>::new(), Vec::new());
    for seed in first.. {
        let more = match seconds {
            Some(seconds) => start.elapsed() < seconds,
            None => seed - first < MUTANTS,
        };
        if !more {
            break;
        }
        WATCH.set(Some(seed));
        let mutant = || {
            let mut random = Random::new(splitmix(seed), LARGE);
            let program = &programs[random.below(programs.len())];
            changed(program, &mut random).map(|program| (program, random))
        };
        let run_mutant = || match mutant() {
            Ok((program, mut random)) => {
                is_kept(&program);
                run(&program, &mut random, seed)
            }
            Err(end) => end,
        };
        match catch_unwind(run_mutant) {
            Ok(end) => *ends.entry(end).or_default() += 1,
            Err(_) => {
                if let Ok(Ok((program, _))) = catch_unwind(mutant) {
                    eprintln!("mutant {seed}: {program}");
                }
                failed.push(seed);
            }
        }
    }
    WATCH.set(None);
    println!("{ends:?} in {:?}", start.elapsed());
    assert!(failed.is_empty(), "mutants {failed:?} panic");
    // Programs that cannot be planned are rare, so they are not counted: hardly any is well-formed.
    let ways = [End::Unread, End::Unverified, End::Failed, End::Ran];
    assert!(ways.iter().all(|end| ends.contains_key(end)), "the changes have become one-sided: {ends:?}");
}

/// The numbers of consecutive seeds are far apart and not 0.
fn splitmix(seed: u64) -> u64 {
    let z = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9)).max(1)
}
