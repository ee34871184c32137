//! A checkpoint that a training goes on from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paddle_fuzz::training::Training;

fuzz_target!(|data: &[u8]| {
    Training::new().expect("the network can be trained").resume(data);
});
