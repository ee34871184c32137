//! Names of parameters as items of Rust: rustc reports a wrong one.

/// The name of one parameter. The macros generate one for each parameter of a network: `params::D::hidden::w` in a
/// module of networks, `net.params.hidden.w` for a single network.
///
/// ```
/// let net = paddle::network!(|x: Tensor<f32, _, 2>| { let line = fc(x, 1); line });
/// assert_eq!(net.params.line.w.as_ref(), "line.w");
/// let parameters = paddle::Parameters::create(&net)?;
/// assert_eq!(parameters.get::<f32>(net.params.line.w)?.shape(), [2, 1]);
/// # Ok::<(), paddle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterName(#[doc(hidden)] pub &'static str);

impl AsRef<str> for ParameterName {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// A group of parameters: all whose names begin with one path. `params::D` is every parameter below `D.`. The name of
/// one parameter is a group of one.
///
/// ```
/// #[paddle::attribute::network]
/// mod model {
///     pub fn predict(x: Tensor<f32, _, 2>) -> _ {
///         fc(fc(x, 4, param = "trunk.first"), 1, param = "head")
///     }
/// }
///
/// # fn main() -> Result<(), paddle::Error> {
/// let parameters = paddle::Parameters::create(&model::predict())?;
/// assert!(parameters.names_in(model::params::trunk).eq(["trunk.first.w", "trunk.first.b"]));
/// assert!(parameters.names_in(model::params::head::w).eq(["head.w"]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterGroup(#[doc(hidden)] pub &'static str);

impl ParameterGroup {
    /// Whether the parameter of this full name belongs to the group.
    pub fn contains(&self, name: &str) -> bool {
        match self.0 {
            path if path.is_empty() || path.ends_with('.') => name.starts_with(path),
            whole => name == whole,
        }
    }
}

impl From<ParameterName> for ParameterGroup {
    fn from(ParameterName(name): ParameterName) -> Self {
        ParameterGroup(name)
    }
}
