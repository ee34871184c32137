//! Names of parameters as items: a wrong one is an error of rustc.

/// The name of one parameter. The macros make one for each parameter of a network: `params::D::hidden::w` in a module
/// of networks, `net.params.hidden.w` of a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterName(#[doc(hidden)] pub &'static str);

impl AsRef<str> for ParameterName {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// All parameters whose names begin with one path: `params::D` is every parameter below `D.`. A name is a group of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterGroup(#[doc(hidden)] pub &'static str);

impl ParameterGroup {
    /// Whether the parameter of this full name is one of them.
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
