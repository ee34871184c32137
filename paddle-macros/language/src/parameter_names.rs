//! Names of parameters: the path of the enclosing sub-network calls, followed by the binding or, without one, by the
//! layer's name.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};

/// The documentation of the argument `param`, for editors.
pub const DOCUMENTATION: &str = "The name of the parameters: every use of a name shares.";

/// The naming state: a stack of the sub-network calls that are being inlined.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    calls: Vec<Call>,
    /// How many times each path of a layer without parameters was used.
    paths: BTreeMap<String, u32>,
}

#[derive(Clone, Debug, Default)]
struct Call {
    /// The path of the call. It ends in `.`, unless it is empty.
    path: String,
    /// The path that the call had in older versions, when arguments had no names of their own.
    former: String,
    /// Whether the user named the call.
    named: bool,
    /// Whether that name is absolute, so that the calls around do not matter.
    absolute: bool,
    /// How many unrolled loops of this sub-network are active.
    loops: usize,
    /// The names of the layers in it.
    layers: Counted,
    /// The names of the calls in it.
    calls: Counted,
    /// The names that its layers had in older versions.
    former_layers: Counted,
    former_calls: Counted,
    /// How many times it called each sub-network without a name.
    called: BTreeMap<usize, u32>,
    /// Whether this is the second unnamed call of the same sub-network. Then it is unclear whether its layers share
    /// parameters with the first.
    second: bool,
}

/// A counter of names: a repeated name gets `_1`, `_2`, …
#[derive(Clone, Debug, Default)]
struct Counted {
    times: BTreeMap<String, u32>,
    /// The names that were given out, each with its origin.
    given: BTreeMap<String, String>,
}

/// The name that a layer or a call would have without numbering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    name: String,
    /// The identity of the name. The same name from another origin is a conflict.
    origin: String,
    /// The name in older versions, when arguments had no names of their own.
    former: String,
}

/// The name of a layer's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub name: String,
    /// The name in older files, if it was a different one.
    pub former: Option<String>,
}

/// How the user named a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    Nothing,
    /// A part of a path.
    Segment(&'a str),
    /// The whole path.
    Path(&'a str),
}

/// The reason why a layer has no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nameless {
    /// It is in an unrolled loop, or in a call in one: `call` counts from the outermost, which is 0.
    Repeated {
        /// The call in the loop; `None` if the layer itself is in it.
        call: Option<usize>,
    },
    /// It is in the second unnamed call of a sub-network.
    SecondCall {
        /// The second call, counted from the outermost, which is 0.
        call: usize,
    },
    /// A layer of another binding, or another sub-network, has the name.
    Taken {
        /// The name.
        name: String,
    },
}

impl Names {
    pub(crate) fn new() -> Self {
        Names { calls: vec![Call::default()], paths: BTreeMap::new() }
    }

    /// The parameter name of a layer that the user did not name. In a second call, only the first layer gives an error.
    pub(crate) fn layer(&mut self, base: &Base) -> Result<Path, Nameless> {
        self.tell_calls_apart()?;
        let is_named = |call: usize| self.calls.get(call + 1).is_some_and(|inner| inner.named);
        let mut calls = self.calls.iter().enumerate().skip(self.fixed());
        if let Some((call, _)) = calls.find(|(at, call)| call.loops > 0 && !is_named(*at)) {
            return Err(Nameless::Repeated { call: Some(call).filter(|call| call + 1 < self.calls.len()) });
        }
        let Some(call) = self.calls.last_mut() else { return Ok(Path::unchanged(base.name.clone())) };
        let former = format!("{}{}", call.former, call.former_layers.former(base));
        Ok(Path::new(format!("{}{}", call.path, call.layers.next(base)?), former))
    }

    /// The parameter name of a layer that the user named. A name that begins with `.` is relative to the call.
    pub(crate) fn given(&mut self, name: &str) -> Result<Path, Nameless> {
        let Some(relative) = name.strip_prefix('.') else { return Ok(Path::unchanged(name.to_string())) };
        self.tell_calls_apart()?;
        let below = |around: &str| format!("{around}{relative}");
        let around = self.calls.last().map_or(("", ""), |call| (&call.path, &call.former));
        Ok(Path::new(below(around.0), below(around.1)))
    }

    /// Errors if a surrounding call is the second unnamed one of its sub-network.
    fn tell_calls_apart(&mut self) -> Result<(), Nameless> {
        let fixed = self.fixed();
        let mut calls = self.calls.iter_mut().enumerate().skip(fixed);
        let Some((at, second)) = calls.find(|(_, call)| call.second) else { return Ok(()) };
        second.second = false;
        // The outermost entry is the topology itself.
        Err(Nameless::SecondCall { call: at - 1 })
    }

    /// The index of the innermost call with an absolute name; the calls around it do not contribute.
    fn fixed(&self) -> usize {
        self.calls.iter().rposition(|call| call.absolute).unwrap_or_default()
    }

    /// The path of a layer without parameters. It is unique, and takes no names from layers with parameters.
    pub(crate) fn path(&mut self, binding: Option<&str>, layer: &str) -> Path {
        let around = self.calls.last().map_or("", |call| &call.path);
        let binding = binding.map(|binding| format!("{binding}.")).unwrap_or_default();
        let path = format!("{around}{binding}{layer}");
        let times = self.paths.entry(path.clone()).or_default();
        *times += 1;
        Path::unchanged(if *times == 1 { path } else { format!("{path}_{}", *times - 1) })
    }

    /// Enters a call of a sub-network. Calls with the same given name share parameters.
    ///
    /// `identity` identifies the sub-network. A library layer has none: like any layer, each of its calls has its own
    /// parameters.
    pub(crate) fn enter(
        &mut self,
        callee: &Base,
        identity: Option<usize>,
        said: Said<'_>,
    ) -> Result<(), Nameless> {
        let Some(outer) = self.calls.last_mut() else { return Ok(()) };
        let unnamed = identity.filter(|_| said == Said::Nothing).map(|identity| {
            let times = outer.called.entry(identity).or_default();
            *times += 1;
            *times
        });
        let (around, segment) = match said {
            Said::Nothing => ((&*outer.path, &*outer.former), outer.calls.next(callee)),
            Said::Segment(name) => ((&*outer.path, &*outer.former), Ok(name.to_string())),
            Said::Path(name) => (("", ""), Ok(name.to_string())),
        };
        let name = segment.as_deref().unwrap_or(&callee.name);
        let former = (said == Said::Nothing).then(|| outer.former_calls.former(callee));
        let path = format!("{}{name}.", around.0);
        let former = format!("{}{}.", around.1, former.as_deref().unwrap_or(name));
        let (named, absolute) = (said != Said::Nothing, matches!(said, Said::Path(_)));
        self.calls.push(Call {
            path,
            former,
            named,
            absolute,
            second: unnamed == Some(2),
            ..Call::default()
        });
        segment.map(|_| ())
    }

    /// Leaves the innermost call.
    pub(crate) fn leave(&mut self) {
        self.calls.pop();
    }

    /// Enters an unrolled loop.
    pub(crate) fn enter_loop(&mut self) {
        if let Some(call) = self.calls.last_mut() {
            call.loops += 1;
        }
    }

    /// Leaves the innermost loop.
    pub(crate) fn leave_loop(&mut self) {
        if let Some(call) = self.calls.last_mut() {
            call.loops -= 1;
        }
    }
}

impl Counted {
    fn next(&mut self, base: &Base) -> Result<String, Nameless> {
        let name = self.numbered(&base.origin, &base.name);
        match self.given.insert(name.clone(), base.origin.clone()) {
            Some(other) if other != base.origin => Err(Nameless::Taken { name }),
            _ => Ok(name),
        }
    }

    /// The numbered name in older versions. It need not be unique: it serves only to look up names in older files.
    fn former(&mut self, base: &Base) -> String {
        self.numbered(&base.former, &base.former)
    }

    fn numbered(&mut self, origin: &str, name: &str) -> String {
        let times = self.times.entry(origin.to_string()).or_default();
        let numbered = if *times == 0 { name.to_string() } else { format!("{name}_{times}") };
        *times += 1;
        numbered
    }
}

impl Base {
    /// A word of the source.
    pub(crate) fn of(word: &str) -> Self {
        let [name, origin, former] = [(); 3].map(|()| word.to_string());
        Base { name, origin, former }
    }

    /// The name of a layer in the arguments of `layer`, which has this binding.
    pub(crate) fn of_argument(binding: &str, layer: &str) -> Self {
        Base {
            name: format!("{binding}_{layer}"),
            origin: format!("{layer} in {binding}"),
            former: binding.to_string(),
        }
    }
}

impl Path {
    fn new(name: String, former: String) -> Self {
        let former = Some(former).filter(|former| *former != name);
        Path { name, former }
    }

    fn unchanged(name: String) -> Self {
        Path { name, former: None }
    }
}

/// Whether a text can name parameters: words joined by `.`, with an optional `.` in front.
pub(crate) fn is_path(name: &str) -> bool {
    let name = name.strip_prefix('.').unwrap_or(name);
    let word = |word: &str| {
        word.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && word.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    name.split('.').all(word)
}

/// Whether a text can be the whole name of a parameter: any, but a relative one is a path.
pub(crate) fn is_whole_name(name: &str) -> bool {
    !name.is_empty() && (!name.starts_with('.') || is_path(name))
}

/// A word of a parameter name as a Rust identifier: `gen` becomes `r#gen`, and what no identifier has becomes `_`.
pub fn identifier(word: &str) -> Ident {
    let here = Span::mixed_site();
    let plain = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '_' };
    let mut changed: String = word.chars().map(plain).collect();
    if !changed.starts_with(|first: char| first.is_alphabetic() || first == '_') {
        changed.insert(0, '_');
    }
    let word = changed.as_str();
    match word {
        // Rust does not allow these as raw identifiers.
        "self" | "Self" | "super" | "crate" | "_" => Ident::new(&format!("{word}_"), here),
        // `gen` is a keyword since edition 2024, but syn accepts it as a name.
        "gen" => Ident::new_raw(word, here),
        _ if syn::parse_str::<Ident>(word).is_ok() => Ident::new(word, here),
        _ => Ident::new_raw(word, here),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_asks_for_names() {
        let mut names = Names::new();
        names.enter_loop();
        assert_eq!(names.layer(&Base::of("h")), Err(Nameless::Repeated { call: None }));
        names.enter(&Base::of("block"), None, Said::Nothing).unwrap();
        names.enter(&Base::of("inner"), None, Said::Segment("fixed")).unwrap();
        assert_eq!(names.layer(&Base::of("fc")), Err(Nameless::Repeated { call: Some(0) }));
        names.leave();
        names.leave();
        names.enter(&Base::of("block"), None, Said::Segment("block0")).unwrap();
        names.enter(&Base::of("inner"), None, Said::Nothing).unwrap();
        assert_eq!(names.layer(&Base::of("fc")).unwrap().name, "block0.inner.fc");
        names.leave();
        names.enter_loop();
        assert_eq!(names.layer(&Base::of("fc")), Err(Nameless::Repeated { call: None }));
        names.leave_loop();
        names.leave();
        names.leave_loop();
        assert_eq!(names.layer(&Base::of("h")).unwrap().name, "h");
    }

    #[test]
    fn a_second_call_asks_for_a_name() {
        let mut names = Names::new();
        let mut called = |said: Said<'_>| {
            names.enter(&Base::of("tower"), Some(7), said).unwrap();
            let layers = [names.layer(&Base::of("fc")), names.given(".table"), names.given("table")];
            names.leave();
            layers
        };
        let right = |names: [&str; 3]| names.map(|name| Ok(Path::unchanged(name.to_string())));
        assert_eq!(called(Said::Nothing), right(["tower.fc", "tower.table", "table"]));
        assert_eq!(called(Said::Segment("other")), right(["other.fc", "other.table", "table"]));
        // Layers with an absolute name need no other distinction; of the rest, the first one gives an error.
        let second = called(Said::Nothing);
        assert_eq!(second[0], Err(Nameless::SecondCall { call: 0 }));
        assert!(second[1..].iter().all(Result::is_ok));
        assert!(called(Said::Nothing).iter().all(Result::is_ok));
    }

    #[test]
    fn files_of_before_have_other_names() {
        let mut names = Names::new();
        let path = |name: &str, former: &str| Ok(Path::new(name.to_string(), former.to_string()));
        assert_eq!(names.layer(&Base::of_argument("h", "fc")), path("h_fc", "h"));
        names.enter(&Base::of_argument("h", "lstm"), None, Said::Nothing).unwrap();
        assert_eq!(names.layer(&Base::of("gates")), path("h_lstm.gates", "h.gates"));
        assert_eq!(names.given(".table"), path("h_lstm.table", "h.table"));
        assert_eq!(names.given("table"), path("table", "table"));
        names.enter(&Base::of("part"), None, Said::Path("p")).unwrap();
        assert_eq!(names.layer(&Base::of("gates")), path("p.gates", "p.gates"));
        names.leave();
        names.leave();
        assert_eq!(names.layer(&Base::of_argument("h", "fc")), path("h_fc_1", "h_1"));
        assert_eq!(names.layer(&Base::of("h")), path("h", "h_2"));
    }

    #[test]
    fn a_suffix_that_is_another_name() {
        let mut names = Names::new();
        assert_eq!(names.layer(&Base::of("h_1")).unwrap().name, "h_1");
        assert_eq!(names.layer(&Base::of("h")).unwrap().name, "h");
        assert_eq!(names.layer(&Base::of("h")), Err(Nameless::Taken { name: "h_1".into() }));
    }
}
