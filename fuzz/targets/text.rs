//! A program as text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paddle::{Network, Parameters};

fuzz_target!(|text: &str| {
    let Ok(program) = paddle::core::text::parse(text) else { return };
    let Ok(net) = Network::from_program(program) else { return };
    if let Ok(mut parameters) = Parameters::create(&net) {
        paddle_fuzz::program::run(&net, &mut parameters, text.as_bytes());
    }
});
