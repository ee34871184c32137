//! Sub-networks and constants of other modules, imported into networks.

use paddle::{Network, Spec, attribute, network};

/// Imports from modules that stand further down.
#[attribute::network]
pub mod house {
    use self::super::parts::{SIZE as ROOMS, tower as floor};
    use super::street::road;

    /// Constants are compile-time values here too.
    const WIDTH: usize = ROOMS + 1;

    /// Two floors.
    pub fn cost(x: Tensor<f32, _, WIDTH>, y: Tensor<f32, _, ROOMS>) -> Tensor<f32> {
        mean(square_error_cost(floor(x) + road(x), y))
    }
}

/// Parts of houses.
#[attribute::network]
pub mod parts {
    /// The number of rooms.
    pub const SIZE: usize = 3;
    const HIDDEN: usize = 2 * SIZE;

    fn brick(x: _, #[default = relu] act: Activation) -> _ {
        fc(x, HIDDEN, act = act)
    }

    /// Two bricks.
    pub fn tower(x: Tensor<f32, _, 4>) -> Tensor<f32, _, SIZE> {
        fc(brick(brick(x), act = tanh, param = "upper"), SIZE)
    }
}

/// Exports what it imports in turn.
#[attribute::network]
pub mod street {
    use crate::parts::tower;

    /// A tower, and its mirror image.
    pub fn road(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 3> {
        tower(x) - tower(-x, param = "mirror")
    }
}

/// Imports from another crate.
#[attribute::network]
pub mod abroad {
    use ::models::parts::{CLASSES, around, classify, told_apart};

    /// A cost whose every parameter comes from there.
    pub fn cost(x: Tensor<f32, _, CLASSES>, y: Tensor<f32, _, 1>, label: Tensor<i64, _, 1>) -> _ {
        let logits = classify(around(x, factor = 0.5));
        told_apart(x, y) + mean(softmax_with_cross_entropy(logits, label))
    }
}

fn text<S: Spec>(net: &Network<S>) -> String {
    net.program().unwrap().to_string()
}

#[test]
fn a_module_imports_others_that_come_later() {
    let text = text(&house::cost());
    // The names are those of the module that it comes from, whatever it is called here.
    assert!(text.contains("parameter tower.brick.fc.w: f32[4, 6]"), "{text}");
    assert!(text.contains("parameter tower.upper.fc.w: f32[6, 6]"), "{text}");
    assert!(text.contains("parameter road.mirror.fc.w: f32[6, 3]"), "{text}");
    assert!(text.contains("= relu(") && text.contains("= tanh("), "{text}");
}

#[test]
fn a_closure_imports() {
    let net = network!(|x: Tensor<f32, _, 4>, y: Tensor<f32, _, SIZE>| {
        use crate::parts::{SIZE, tower};
        mean(square(tower(x, param = "t") - y))
    });
    assert!(text(&net).contains("parameter t.fc.b: f32[3]"));
}

#[test]
fn a_module_in_a_function_exports() {
    network! {
        mod local {
            pub fn half(x: Tensor<f32, _, 4>) -> Tensor<f32, _, 4> {
                x / 2.0
            }
        }
    }
    let net = network!(|x: Tensor<f32, _, 4>| {
        use local::half;
        half(half(x))
    });
    assert_eq!(text(&net).matches("elementwise_div").count(), 6);
    assert_eq!(text(&local::half()).matches("elementwise_div").count(), 3);
}

#[test]
fn places_are_those_of_the_source() {
    let net = house::cost();
    let places = paddle::core::text::with_places(net.program().unwrap()).to_string();
    let line = include_str!("imports.rs").lines().position(|line| line.contains("fc(x, HIDDEN")).unwrap() + 1;
    assert!(places.contains(&format!("tests/imports.rs:{line}:")), "{places}");
}

#[test]
fn a_layer_of_the_library_is_named_by_its_binding() {
    let net = network!(|image: Tensor<f32, _, 1, 28, 28>, label: Tensor<i64, _, 1>| {
        let first = simple_img_conv_pool(image, 20, 5, 2, 2, act = relu);
        let second = simple_img_conv_pool(first, 50, 5, 2, 2, pool_kind = avg, param = "deep");
        let digit = fc(second, 10);
        mean(softmax_with_cross_entropy(digit, label))
    });
    let text = text(&net);
    assert!(text.contains("parameter first.conv.w: f32[20, 1, 5, 5]"), "{text}");
    assert!(text.contains("parameter deep.conv.w: f32[50, 20, 5, 5]"), "{text}");
    assert!(text.contains("parameter digit.w: f32[800, 10]"), "{text}");
}

#[test]
fn another_crate_is_imported_from() {
    let net = abroad::cost();
    let program = text(&net);
    // `WIDTH` is found at the root of the crate that wrote it.
    assert!(program.contains("parameter classify.wide.fc.w: f32[3, 6]"), "{program}");
    assert!(program.contains("parameter around.fc.b: f32[3]"), "{program}");
    assert!(program.contains("parameter D.hidden.w: f32[3, 4]"), "{program}");
    // The operators know where they were written.
    let places = paddle::core::text::with_places(net.program().unwrap()).to_string();
    let source = include_str!("../crates/models/src/lib.rs");
    let line = source.lines().position(|line| line.contains("x + factor *")).unwrap() + 1;
    assert!(places.contains(&format!("tests/crates/models/src/lib.rs:{line}:")), "{places}");
    // And its parameters are those of the networks there.
    let parameters = paddle::parameters![abroad::cost, models::gan::d1].unwrap();
    assert!(parameters.get::<f32>(models::gan::params::D::hidden::w).is_ok());
}

/// Networks that a macro of the user makes, each at the same place.
macro_rules! widths {
    ($($name:ident = $width:literal),*) => {$(
        /// A network of this width.
        #[paddle::attribute::network]
        pub mod $name {
            /// One layer.
            pub fn line(x: Tensor<f32, _, $width>) -> Tensor<f32, _, 1> {
                fc(x, 1)
            }
        }
    )*};
}

widths!(narrow = 2, wide = 8);

#[test]
fn a_macro_makes_several_networks_of_one_source() {
    let shapes = [text(&narrow::line()), text(&wide::line())];
    for (text, shape) in shapes.iter().zip(["[2, 1]", "[8, 1]"]) {
        assert!(text.contains(&format!("parameter fc.w: f32{shape}")), "{text}");
    }
}
