//! Values that nobody takes.

use paddle::attribute::network;

#[network]
pub mod regression {
    fn hidden(x: _) -> _ {
        let h = fc(x, 16);
        relu(h);
     //~^^^^^^^ unused-value
        tap(h, "hidden");
        h
    }

    fn squared(x: _) -> _ {
        square(x);
     //~^^^^^^^^^ unused-value
    }

    pub fn cost(x: Tensor<f32, _, 13>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let mut h = hidden(x);
        if mean(x) > 0.0 {
            h = tanh(h);
            h * 2.0;
         //~^^^^^^^ unused-value
        }
        let _ = sigmoid(h);
        let error = squared(fc(h, 1) - y);
        mean(error)
    }
}

fn main() {}
