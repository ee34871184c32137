//! Names of parameters: the path of the enclosing sub-network calls, then the binding, or else the layer's name.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};

/// What `param` is, for editors.
pub const DOCUMENTATION: &str = "The name of the parameters: every use of a name shares.";

/// The calls of sub-networks that are being inlined.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    calls: Vec<Call>,
    /// How often each path of a layer without parameters was given out.
    paths: BTreeMap<String, u32>,
}

#[derive(Clone, Debug, Default)]
struct Call {
    /// Ends in `.`, unless it is empty.
    path: String,
    /// The path before arguments had names of their own.
    former: String,
    /// Whether the call has a name of its own.
    named: bool,
    /// Whether that is a whole name, whatever is around the call.
    absolute: bool,
    /// How many unrolled loops of this sub-network are around.
    loops: usize,
    /// The names of its layers.
    layers: Counted,
    /// The names of the calls in it.
    calls: Counted,
    /// The names that layers and calls had before.
    former_layers: Counted,
    former_calls: Counted,
    /// How often each sub-network was called in it without a name.
    called: BTreeMap<usize, u32>,
    /// Whether this is the second of such calls: nothing says whether its layers share parameters with the first.
    second: bool,
}

/// Names that are given out more than once: with `_1`, `_2`, … from the second time on.
#[derive(Clone, Debug, Default)]
struct Counted {
    times: BTreeMap<String, u32>,
    /// The names that were given out, and what each was made of.
    given: BTreeMap<String, String>,
}

/// What a layer, or a call, is to be called; a number tells it from others that are to be called the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    name: String,
    /// What the name is made of: others of this name are made of something else.
    origin: String,
    /// What it was called before arguments had names of their own.
    former: String,
}

/// The name of a layer's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub name: String,
    /// The name that files of before have, if it was another.
    pub former: Option<String>,
}

/// What the user said of the name of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    Nothing,
    /// A part of a path.
    Segment(&'a str),
    /// The whole path.
    Path(&'a str),
}

/// Why a layer has no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nameless {
    /// An unrolled loop repeats it, or the call of this number around it, 0 being the outermost.
    Repeated {
        /// The call.
        call: Option<usize>,
    },
    /// The call of this number around it is the second of its sub-network, 0 being the outermost, and neither has a name.
    SecondCall {
        /// The call.
        call: usize,
    },
    /// A layer of another binding, or another sub-network, has it.
    Taken {
        /// The name.
        name: String,
    },
}

impl Names {
    pub(crate) fn new() -> Self {
        Names { calls: vec![Call::default()], paths: BTreeMap::new() }
    }

    /// The name of a layer's parameters that the user did not name. Of a second call one layer is told of.
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

    /// The name that the user gave to a layer's parameters: with a `.` in front it is one below that of the call.
    pub(crate) fn given(&mut self, name: &str) -> Result<Path, Nameless> {
        let Some(relative) = name.strip_prefix('.') else { return Ok(Path::unchanged(name.to_string())) };
        self.tell_calls_apart()?;
        let below = |around: &str| format!("{around}{relative}");
        let around = self.calls.last().map_or(("", ""), |call| (&call.path, &call.former));
        Ok(Path::new(below(around.0), below(around.1)))
    }

    /// Finds the call around that is a second one.
    fn tell_calls_apart(&mut self) -> Result<(), Nameless> {
        let fixed = self.fixed();
        let mut calls = self.calls.iter_mut().enumerate().skip(fixed);
        let Some((at, second)) = calls.find(|(_, call)| call.second) else { return Ok(()) };
        second.second = false;
        // The first one is the topology.
        Err(Nameless::SecondCall { call: at - 1 })
    }

    /// The innermost call with a whole name: those around it say nothing more.
    fn fixed(&self) -> usize {
        self.calls.iter().rposition(|call| call.absolute).unwrap_or_default()
    }

    /// The path of a layer without parameters, which no other has, and which takes no name from those that have some.
    pub(crate) fn path(&mut self, binding: Option<&str>, layer: &str) -> Path {
        let around = self.calls.last().map_or("", |call| &call.path);
        let binding = binding.map(|binding| format!("{binding}.")).unwrap_or_default();
        let path = format!("{around}{binding}{layer}");
        let times = self.paths.entry(path.clone()).or_default();
        *times += 1;
        Path::unchanged(if *times == 1 { path } else { format!("{path}_{}", *times - 1) })
    }

    /// Enters a call of a sub-network. A name that was given to it is shared.
    ///
    /// `identity` tells sub-networks from each other; one of the library has none: each call of it is new, as of any layer.
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

    /// The name that it had. Files are looked up by it, so nothing else can take it.
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

    /// What stands in an argument of the layer that has this binding.
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

/// Whether a text can name parameters: words joined by `.`, which may also stand in front.
pub(crate) fn is_path(name: &str) -> bool {
    let name = name.strip_prefix('.').unwrap_or(name);
    let word = |word: &str| {
        word.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && word.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    name.split('.').all(word)
}

/// A word of a name as an identifier of Rust: `r#gen` for `gen`.
pub fn identifier(word: &str) -> Ident {
    let here = Span::mixed_site();
    match word {
        // These cannot be escaped.
        "self" | "Self" | "super" | "crate" | "_" => Ident::new(&format!("{word}_"), here),
        // A keyword since the edition of 2024, which syn takes for a name.
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
        // In it, what has a whole name is told apart by that; of the others one is told of.
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
