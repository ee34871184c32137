//! A digit that is drawn in a browser, and what a network takes it for.
//!
//! The network is that of a program on any other machine: the same source, so the same bytes of the same program.

use paddle::attribute::network;
use paddle::{Load, Parameters, infer};
use wasm_bindgen::prelude::wasm_bindgen;

mod strokes;

pub use strokes::image_of;

// ANCHOR: model
/// Digits of 8 × 8 pixels.
#[network]
pub mod digit {
    fn logits(image: Tensor<f32, _, 8, 8>) -> Tensor<f32, _, 10> {
        let edges = conv2d(reshape(image, [1, 8, 8]), 24, 3, padding = same, act = relu);
        let shapes = conv2d(edges, 32, 3, padding = same, act = relu);
        let parts = dropout(pool2d(shapes, 2, kind = max), 0.3);
        let hidden = dropout(fc(parts, 64, act = relu), 0.3);
        fc(hidden, 10)
    }

    /// For training.
    pub fn cost(image: Tensor<f32, _, 8, 8>, label: Tensor<i64, _, 1>) -> (Tensor<f32>, Tensor<f32>) {
        let logits = logits(image);
        let accuracy = accuracy(softmax(logits), label);
        (mean(softmax_with_cross_entropy(logits, label)), accuracy)
    }

    /// How probable each digit is.
    pub fn probabilities(image: Tensor<f32, _, 8, 8>) -> Tensor<f32, _, 10> {
        softmax(logits(image))
    }
}
// ANCHOR_END: model

// ANCHOR: browser
/// A network that was trained elsewhere.
#[wasm_bindgen]
pub struct Digits {
    parameters: Parameters,
}

#[wasm_bindgen]
impl Digits {
    /// Takes the parameters from a file of them.
    ///
    /// # Errors
    /// What is wrong with the file.
    #[wasm_bindgen(constructor)]
    pub fn new(file: &[u8]) -> Result<Digits, String> {
        let read = || {
            let mut parameters = Parameters::create(&digit::probabilities())?;
            parameters.load_bytes(file, Load::Strict)?;
            Ok(Digits { parameters })
        };
        read().map_err(|error: paddle::Error| error.to_string())
    }

    // ANCHOR_END: browser

    /// How probable each digit is for strokes: pairs of x (to the right) and y (down), of any scale; a pair that is not a number
    /// ends a stroke. Nothing is drawn where there are no pairs.
    ///
    /// # Errors
    /// What the run says.
    pub fn of_strokes(&self, points: &[f32]) -> Result<Vec<f32>, String> {
        self.of_image(image_of(points).as_flattened())
    }

    /// How probable each digit is for 8 × 8 pixels from 0 (background) to 1, row by row.
    ///
    /// # Errors
    /// If there are not 64 pixels, or what the run says.
    pub fn of_image(&self, pixels: &[f32]) -> Result<Vec<f32>, String> {
        let mut image = [[0.0; 8]; 8];
        if pixels.len() != 64 {
            return Err(format!("an image has 64 pixels, and these are {}", pixels.len()));
        }
        image.as_flattened_mut().copy_from_slice(pixels);
        let run = || {
            let outputs = infer(&digit::probabilities(), &self.parameters, [image])?;
            Ok(outputs.at::<f32>(0)?.iter().copied().collect())
        };
        run().map_err(|error: paddle::Error| error.to_string())
    }
}
