//! `cfg` inside of a network: what is configured out is as if it were not written, in both forms, wherever Rust takes the
//! attribute.

use paddle::attribute::network;
use paddle::{Error, Network, Parameters, Spec, infer};

#[network]
mod model {
    /// There while tests are compiled.
    #[cfg(test)]
    const SIZE: usize = 3;
    #[cfg(not(test))]
    const SIZE: usize = 5;

    #[cfg(any())]
    use crate::nowhere::nothing;
    #[cfg(test)]
    use models::configured::layer;

    #[cfg(any())]
    fn part(x: _) -> _ {
        there_is(no_such(layer, x))
    }

    #[cfg(not(any()))]
    fn part(x: _) -> _ {
        fc(x, SIZE)
    }

    #[cfg_attr(all(), doc = "What is computed.")]
    #[cfg_attr(any(), no_such_attribute)]
    pub fn all(
        x: Tensor<f32, _, 3>,
        #[cfg(any())] nowhere: Tensor<nothing>,
        #[cfg(test)] y: Tensor<f32, _, 3>,
    ) -> _ {
        #[cfg(any())]
        let x = nothing(x);
        let mut h = part(x);
        #[cfg(test)]
        {
            h = h + y;
        }
        #[cfg(any())]
        {
            h = nothing;
        }
        #[cfg(any())]
        h += nothing;
        h = match SIZE {
            #[cfg(any())]
            _ => nothing,
            #[cfg_attr(all(), cfg(test))]
            3 => h,
            _ => layer(h),
        };
        let sum = |a: _, #[cfg(any())] b: _| a + 1.0;
        let (h, _) = (
            sum(h),
            #[cfg(any())]
            nothing,
            1,
        );
        concat(
            [
                h,
                #[cfg(any())]
                nothing,
                layer(x),
            ],
            axis = 1,
        )
    }

    #[cfg(any())]
    pub fn gone(x: nothing) {}

    pub fn cost(x: Tensor<f32, _, 3>) -> Tensor<f32> {
        #[cfg(any())]
        {
            nothing
        }
        #[cfg(not(any()))]
        {
            mean(part(x))
        }
    }
}

fn text<S: Spec>(net: &Network<S>) -> String {
    net.program().unwrap().to_string()
}

#[test]
fn modules() -> Result<(), Error> {
    let net = model::all();
    // The layer of the other crate is as that one configures it.
    let parameters = Parameters::create(&net)?;
    let types: Vec<String> = parameters.iter().map(|p| format!("{}{:?}", p.name, p.dims)).collect();
    assert_eq!(types, ["part.fc.w[3, 3]", "part.fc.b[3]", "layer.fc.w[3, 8]", "layer.fc.b[8]"]);
    let outputs = infer(&net, &parameters, [net.row([1.0, 2.0, 3.0], [0.0; 3])])?;
    assert_eq!(outputs.at::<f32>(0)?.shape(), [1, 11]);
    assert!(text(&model::cost()).contains("reduce_mean"));
    Ok(())
}

#[test]
fn closures() {
    let net = network_of_a_closure!();
    assert!(text(&net).contains("tanh") && !text(&net).contains("relu"), "{}", text(&net));
    // As the first of a test's imports, and behind one.
    let net = paddle::network!(|x: Tensor<f32, _, 3>| {
        use models::configured::layer;
        #[cfg(test)]
        use models::parts::around;
        #[cfg(not(test))]
        let around = |x| nothing(x);
        around(layer(x))
    });
    assert!(text(&net).contains("layer.fc.w"));
}

/// Also where a macro of the user's writes the network.
#[macro_export]
macro_rules! network_of_a_closure {
    () => {
        paddle::network!(|x: Tensor<f32, _, 3>, #[cfg(any())] y: nothing| {
            #[cfg(target_pointer_width = "16")]
            let x = relu(x);
            #[cfg(any(test, target_pointer_width = "16"))]
            let x = tanh(x);
            x
        })
    };
}

paddle::network! {
    #[cfg(any())]
    mod gone {
        pub fn net(x: Tensor<f32, _, 3>) -> _ {
            nothing(x)
        }
    }
}

#[cfg(any())]
#[network]
mod gone_too {
    pub fn net(x: Tensor<f32, _, 3>) -> _ {
        nothing(x)
    }
}

#[network]
#[cfg(test)]
mod here {
    pub fn net(x: Tensor<f32, _, 3>) -> _ {
        #[rustfmt::skip]
        #[cfg(test)]
        let y = x * 2.0;
        y
    }
}

#[test]
fn lints_are_for_the_source() {
    #[network]
    mod quiet {
        #[allow(unused_variables)]
        pub fn net(x: Tensor<f32, _, 3>) -> _ {
            let unused = x * 2.0;
            x
        }

        #[expect(unused_variables)]
        #[rustfmt::skip]
        fn part(x: _) -> _ {
            let unused = x;
            x
        }

        #[must_use]
        #[inline]
        pub fn other(x: Tensor<f32, _, 3>) -> _ {
            part(x)
        }
    }
    assert!(text(&quiet::net()).contains("return"));
    assert!(text(&quiet::other()).contains("return"));
}
