//! A model in ONNX.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paddle::load_onnx;

fuzz_target!(|data: &[u8]| {
    if let Ok((net, mut parameters)) = load_onnx(data) {
        paddle_fuzz::program::run(&net, &mut parameters, data);
    }
});
