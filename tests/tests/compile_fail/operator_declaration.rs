//! Declarations of operators that cannot be.

#[paddle::attribute::network]
mod operators {
    fn body(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ not-of-the-language

    #[operator]
    fn private(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;
    //~^^^^^^^ not-of-the-language

    #[operator]
//~ ^^^^^^^^^^^ not-of-the-language
    pub fn with_body(x: Tensor<f32, _, 4>) -> _ {
        x
    }

    #[operator]
    pub fn default(x: Tensor<f32, _, D>, size: f32) -> Tensor<f32, _, D>;
    //~                                        ^^^ not-of-the-language

    #[operator]
    pub fn sequence(x: Seq<f32>) -> Tensor<f32, _>;
    //~                ^^^^^^^^ not-of-the-language

    #[operator]
    pub fn result(x: Tensor<f32, _, D>) -> (Tensor<f32, _>, Tensor<f32, _>);
    //~                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ not-of-the-language

    #[operator(rowwise)]
    //~        ^^^^^^^ syntax
    pub fn option(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;

    #[operator(gradient = nothing)]
    //~                   ^^^^^^^ unknown-layer
    pub fn without(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;
}

#[paddle::attribute::network]
mod definitions {
    #[operator]
    pub fn size(x: Tensor<f32, _, D>) -> Tensor<f32, _, E>;
    //~    ^^^^ no-operator

    #[operator(gradient = other_names)]
    //~                   ^^^^^^^^^^^ gradient-parameter
    pub fn names(x: Tensor<f32, _, D>) -> Tensor<f32, _, D>;

    fn other_names(x: _, dy: _) -> _ {
        x * dy
    }

    #[operator(gradient = other_shape)]
    pub fn shape(x: Tensor<f32, _, D>) -> Tensor<f32, _, { 2 * D }>;
    //~    ^^^^^ no-operator

    fn other_shape(grad: _) -> _ {
        grad
    }

    #[operator(gradient = with_parameters)]
    pub fn parameters(x: Tensor<f32, _, 3>) -> Tensor<f32, _, 3>;
    //~    ^^^^^^^^^^ no-operator

    fn with_parameters(grad: _) -> _ {
        fc(grad, 3)
    }
}

fn main() {}
