//! Kernels for cards of NVIDIA's are compiled, whether there is such a card or not.

use std::collections::BTreeSet;

use paddle_kernels::Cpu;
use paddle_kernels::gpu::cuda::{Cuda, compile_for};

use crate::draw::Draw;
use crate::run::Case;
use crate::samples::every_sample;

/// Where it is set, NVRTC has to be there.
const REQUIRED: &str = "PADDLE_REQUIRE_NVRTC";

/// The oldest cards that are compiled for, and the newest.
const CAPABILITIES: [&str; 2] = ["sm_80", "sm_90"];

/// One sample in so many.
const ONE_IN: usize = 25;

#[test]
fn kernels_compile_for_old_and_new_cards() {
    let mut compiled = BTreeSet::new();
    for sample in every_sample().iter().step_by(ONE_IN) {
        let group = Case::of(sample, &mut Draw::new(1)).group;
        for capability in CAPABILITIES {
            match compile_for(&group, capability) {
                Ok(_) => {
                    compiled.insert(sample.op.name());
                }
                // The CPU runs these.
                Err(message) if message.starts_with("there is no kernel") => {}
                Err(message) if message.contains("is not found") && std::env::var_os(REQUIRED).is_none() => {
                    return eprintln!("*** SKIPPED: {message} ***");
                }
                Err(message) => panic!("{message}"),
            }
        }
    }
    assert!(compiled.len() > 30, "{compiled:?}");
}

#[test]
fn a_card_that_is_not_there_is_an_error() {
    let error = Cuda::new(99, Cpu::with_threads(1).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("there is no card cuda:99"), "{error}");
    assert!(error.contains("found"), "{error}");
}
