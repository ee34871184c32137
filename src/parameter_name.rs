//! Names of parameters as items: a wrong one is an error of rustc.

/// The name of one parameter. The macros make one for each parameter of a network: `params::D::hidden::w` in a module
/// of networks, `net.params.hidden.w` of a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterName(&'static str);

impl ParameterName {
    /// The parameter of this full name.
    pub const fn new(name: &'static str) -> Self {
        ParameterName(name)
    }
}

impl AsRef<str> for ParameterName {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// All parameters whose names begin with one path: `params::D` is every parameter below `D.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterGroup {
    prefix: &'static str,
}

impl ParameterGroup {
    /// The parameters whose full names begin with `prefix`, which ends in `.` or is empty.
    pub const fn new(prefix: &'static str) -> Self {
        ParameterGroup { prefix }
    }

    /// Whether the parameter of this full name is one of them.
    pub fn contains(&self, name: &str) -> bool {
        name.starts_with(self.prefix)
    }
}
