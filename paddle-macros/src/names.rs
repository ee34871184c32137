//! Names of parameters: the path of the enclosing sub-network calls, then the binding, or else the layer's name.

use std::collections::BTreeMap;

/// The calls of sub-networks that are being inlined.
#[derive(Debug)]
pub(crate) struct Names {
    calls: Vec<Call>,
}

#[derive(Debug, Default)]
struct Call {
    /// Ends in `.`, unless it is empty.
    path: String,
    /// How often each name was given out within this call.
    given: BTreeMap<String, u32>,
}

impl Names {
    pub(crate) fn new() -> Self {
        Names { calls: vec![Call::default()] }
    }

    /// The name of a layer's parameters that the user did not name.
    pub(crate) fn layer(&mut self, binding: Option<&str>, layer: &str) -> String {
        self.next(binding.unwrap_or(layer))
    }

    /// Enters a call of a sub-network. A name given with `param =` stands for the path segment, and is shared.
    pub(crate) fn enter(&mut self, callee: &str, param: Option<&str>) {
        let path = match param {
            Some(name) => format!("{}{name}.", self.path()),
            None => self.next(callee) + ".",
        };
        self.calls.push(Call { path, given: BTreeMap::new() });
    }

    /// Leaves the innermost call.
    pub(crate) fn leave(&mut self) {
        self.calls.pop();
    }

    fn path(&self) -> &str {
        self.calls.last().map_or("", |call| &call.path)
    }

    /// The name under the path, with `_1`, `_2`, … from the second time on.
    fn next(&mut self, name: &str) -> String {
        let Some(call) = self.calls.last_mut() else { return name.to_string() };
        let times = call.given.entry(name.to_string()).or_default();
        let suffix = if *times == 0 { String::new() } else { format!("_{times}") };
        *times += 1;
        format!("{}{name}{suffix}", call.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_suffixes() {
        let mut names = Names::new();
        assert_eq!(names.layer(Some("hidden"), "fc"), "hidden");
        assert_eq!(names.layer(Some("hidden"), "fc"), "hidden_1");
        assert_eq!(names.layer(None, "fc"), "fc");
        names.enter("price", None);
        assert_eq!(names.layer(None, "fc"), "price.fc");
        names.leave();
        names.enter("price", None);
        assert_eq!(names.layer(None, "fc"), "price_1.fc");
        names.enter("inner", Some("shared"));
        assert_eq!(names.layer(Some("a"), "fc"), "price_1.shared.a");
        names.leave();
        names.enter("inner", Some("shared"));
        assert_eq!(names.layer(Some("a"), "fc"), "price_1.shared.a");
        names.leave();
        names.leave();
        assert_eq!(names.layer(Some("out"), "fc"), "out");
    }
}
