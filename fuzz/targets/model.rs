//! A model that PaddlePaddle saved: the length of the program's file, as four bytes, that file, and the parameters'.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paddle::load_inference_model;

fuzz_target!(|data: &[u8]| {
    let Some((length, files)) = data.split_first_chunk::<4>() else { return };
    let length = u32::from_le_bytes(*length) as usize;
    let Some((model, parameters)) = files.split_at_checked(length) else { return };
    if let Ok((net, mut parameters)) = load_inference_model(model, parameters) {
        paddle_fuzz::program::run(&net, &mut parameters, data);
    }
});
