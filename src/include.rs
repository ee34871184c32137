//! `include_model!` as a documented name. Within a module of networks the front end reads it; rustc sees it only elsewhere.

/// A model in a file as a network of a module, read while the crate is compiled: one that PaddlePaddle saved, or one in ONNX. The
/// feature `include` enables it.
///
/// ```standalone_crate
/// use paddle::attribute::network;
/// use paddle::{Load, Options, Sgd, Trainer, parameters};
///
/// #[network]
/// pub mod cells {
///     // What the model knows of pictures, without its classes.
///     include_model!("../tests/tests/included/small.pdmodel", name = trunk, outputs = ["flatten_0.tmp_0"]);
///
///     fn classes(image: _) -> _ {
///         fc(trunk(image), 2, param = "head")
///     }
///
///     pub fn cost(image: Tensor<f32, _, 1, 6, 6>, label: Tensor<i64, _, 1>) -> Tensor<f32> {
///         mean(softmax_with_cross_entropy(classes(image), label))
///     }
/// }
///
/// // Typed inputs, and names of parameters as items, as for any network.
/// let cost = cells::cost();
/// let rows = [cost.row([[[0.5; 6]; 6]], 0), cost.row([[[-0.5; 6]; 6]], 1)];
/// // The values come from the files when the program runs.
/// let mut parameters = parameters![cells::cost]?;
/// let report = parameters.load_model("tests/tests/included/small.pdmodel", Load::Intersect)?;
/// assert_eq!(report.missing, ["head.w", "head.b"]);
///
/// // The head alone is trained.
/// let trunk = parameters.get::<f32>(cells::params::conv2d_0::w_0)?;
/// let head_alone = Options::default().freeze_named("conv2d_*").freeze_named("batch_norm2d_*");
/// let mut trainer = Trainer::new(Sgd::new(0.1));
/// trainer.step_with(&cost, &mut parameters, &rows, &head_alone)?;
/// assert_eq!(parameters.get::<f32>(cells::params::conv2d_0::w_0)?, trunk);
/// # Ok::<(), paddle::Error>(())
/// ```
///
/// | argument | |
/// | --- | --- |
/// | the first | the file, as [`Network::load`](crate::Network::load) takes it, from the folder of the source, as for [`include_bytes!`] |
/// | `name` | the name of the network, without which it is `predict`, or `cost` if the model gives a scalar first |
/// | `outputs` | the values that the network gives, by their names in the model (`paddle show` prints them), if not those that the model gives |
///
/// The network is what `paddle decompile` prints of the model: source like any other, called by other networks of the module, and
/// imported by those of other modules, `use crate::cells::trunk;`. Its parameters have the names of the model, wherever it is called.
/// It trains as [`Network::load`](crate::Network::load) says. Cargo compiles the crate again when the file has changed; the program
/// has nothing of the file but the network.
///
/// # Errors
/// A file that is not there, or damaged, and all operators, attributes and types that are not supported are an error of rustc at the
/// file's name.
#[macro_export]
macro_rules! include_model {
    ($($anything:tt)*) => {
        ::core::compile_error!(
            "`include_model!` stands among the items of a module of networks: `#[network] pub mod resnet { include_model!(\"resnet.pdmodel\"); }`"
        );
    };
}
