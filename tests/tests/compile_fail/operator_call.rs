//! Calls of an operator of one's own, from another module, that do not fit its types.

use paddle::operator::{Inputs, Operator, Output, Sample};

#[paddle::attribute::network]
mod operators {
    #[operator(row_wise)]
    pub fn swirl(
        x: Tensor<f32, _, D>,
        y: Tensor<f32, _, D>,
        #[default = 1.0] turn: f32,
    ) -> Tensor<f32, _, { 2 * D }>;
}

impl Operator for operators::swirl {
    fn cpu(&self, _: &Inputs<'_>, _: &mut Output<'_>) -> Result<(), String> {
        Ok(())
    }

    fn reference(&self, _: &Inputs<'_>, _: &mut Output<'_>) -> Result<(), String> {
        Ok(())
    }

    fn samples(&self, op: Sample) -> Vec<Sample> {
        vec![op]
    }
}

#[paddle::attribute::network]
mod model {
    use crate::operators::swirl;

    pub fn ids(x: Tensor<f32, _, 4>, id: Tensor<i64, _, 4>) -> _ {
        swirl(x, id)
        //~      ^^ element-type
    }

    pub fn image(x: Tensor<f32, _, 4>, image: Tensor<f32, _, 2, 2>) -> _ {
        swirl(image, x)
        //~   ^^^^^ shape
    }

    pub fn sizes(x: Tensor<f32, _, 4>) -> _ {
        swirl(x, fc(x, 3))
        //~      ^^^^^^^^ shape
    }

    pub fn rows(x: Tensor<f32, _, 4>, words: Seq<Tensor<f32, 4>>) -> _ {
        swirl(x, words)
        //~      ^^^^^ row-spaces
    }

    pub fn count(x: Tensor<f32, _, 4>) -> _ {
        swirl(x)
        //~  ^^^ argument-count
    }

    pub fn name(x: Tensor<f32, _, 4>) -> _ {
        swirl(x, x, trun = 2.0)
        //~         ^^^^ unknown-argument
    }

    pub fn no_parameters(x: Tensor<f32, _, 4>) -> _ {
        swirl(x, x, param = "swirl")
        //~         ^^^^^ unknown-argument
    }

    pub fn number(x: Tensor<f32, _, 4>) -> _ {
        swirl(x, x, turn = x)
        //~                ^ declared-type
    }

    pub fn result(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 4> {
        let turned = swirl(x, x);
        x + turned
        //~ ^^^^^^ shape
    }
}

fn main() {}
