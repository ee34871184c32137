//! Names of parameters: the path of the enclosing sub-network calls, then the binding, or else the layer's name.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};

/// What `param` is, for editors.
pub(crate) const DOCUMENTATION: &str = "The name of the parameters: every use of a name shares.";

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
    pub(crate) fn layer(&mut self, binding: Option<&str>, layer: &str) -> Result<String, Nameless> {
        self.tell_calls_apart()?;
        let is_named = |call: usize| self.calls.get(call + 1).is_some_and(|inner| inner.named);
        let mut calls = self.calls.iter().enumerate().skip(self.fixed());
        if let Some((call, _)) = calls.find(|(at, call)| call.loops > 0 && !is_named(*at)) {
            return Err(Nameless::Repeated { call: Some(call).filter(|call| call + 1 < self.calls.len()) });
        }
        let Some(call) = self.calls.last_mut() else { return Ok(layer.to_string()) };
        let base = binding.unwrap_or(layer);
        Ok(format!("{}{}", call.path, call.layers.next(base)?))
    }

    /// The name that the user gave to a layer's parameters: with a `.` in front it is one below that of the call.
    pub(crate) fn given(&mut self, name: &str) -> Result<String, Nameless> {
        let Some(relative) = name.strip_prefix('.') else { return Ok(name.to_string()) };
        self.tell_calls_apart()?;
        let around = self.calls.last().map_or("", |call| &call.path);
        Ok(format!("{around}{relative}"))
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
    pub(crate) fn path(&mut self, binding: Option<&str>, layer: &str) -> String {
        let around = self.calls.last().map_or("", |call| &call.path);
        let binding = binding.map(|binding| format!("{binding}.")).unwrap_or_default();
        let path = format!("{around}{binding}{layer}");
        let times = self.paths.entry(path.clone()).or_default();
        *times += 1;
        if *times == 1 { path } else { format!("{path}_{}", *times - 1) }
    }

    /// Enters a call of a sub-network. A name that was given to it is shared.
    ///
    /// `identity` tells sub-networks from each other; one of the library has none: each call of it is new, as of any layer.
    pub(crate) fn enter(
        &mut self,
        callee: &str,
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
            Said::Nothing => (&*outer.path, outer.calls.next(callee)),
            Said::Segment(name) => (&*outer.path, Ok(name.to_string())),
            Said::Path(name) => ("", Ok(name.to_string())),
        };
        let path = format!("{around}{}.", segment.as_deref().unwrap_or(callee));
        let (named, absolute) = (said != Said::Nothing, matches!(said, Said::Path(_)));
        self.calls.push(Call { path, named, absolute, second: unnamed == Some(2), ..Call::default() });
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
    fn next(&mut self, base: &str) -> Result<String, Nameless> {
        let times = self.times.entry(base.to_string()).or_default();
        let name = if *times == 0 { base.to_string() } else { format!("{base}_{times}") };
        *times += 1;
        match self.given.insert(name.clone(), base.to_string()) {
            Some(other) if other != base => Err(Nameless::Taken { name }),
            _ => Ok(name),
        }
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
pub(crate) fn identifier(word: &str) -> Ident {
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
        assert_eq!(names.layer(Some("h"), "fc"), Err(Nameless::Repeated { call: None }));
        names.enter("block", None, Said::Nothing).unwrap();
        names.enter("inner", None, Said::Segment("fixed")).unwrap();
        assert_eq!(names.layer(None, "fc"), Err(Nameless::Repeated { call: Some(0) }));
        names.leave();
        names.leave();
        names.enter("block", None, Said::Segment("block0")).unwrap();
        names.enter("inner", None, Said::Nothing).unwrap();
        assert_eq!(names.layer(None, "fc").unwrap(), "block0.inner.fc");
        names.leave();
        names.enter_loop();
        assert_eq!(names.layer(None, "fc"), Err(Nameless::Repeated { call: None }));
        names.leave_loop();
        names.leave();
        names.leave_loop();
        assert_eq!(names.layer(Some("h"), "fc").unwrap(), "h");
    }

    #[test]
    fn a_second_call_asks_for_a_name() {
        let mut names = Names::new();
        let mut called = |said: Said<'_>| {
            names.enter("tower", Some(7), said).unwrap();
            let layers = [names.layer(None, "fc"), names.given(".table"), names.given("table")];
            names.leave();
            layers
        };
        let right = |names: [&str; 3]| names.map(|name| Ok(name.to_string()));
        assert_eq!(called(Said::Nothing), right(["tower.fc", "tower.table", "table"]));
        assert_eq!(called(Said::Segment("other")), right(["other.fc", "other.table", "table"]));
        // In it, what has a whole name is told apart by that; of the others one is told of.
        let second = called(Said::Nothing);
        assert_eq!(second[0], Err(Nameless::SecondCall { call: 0 }));
        assert!(second[1..].iter().all(Result::is_ok));
        assert!(called(Said::Nothing).iter().all(Result::is_ok));
    }

    #[test]
    fn a_suffix_that_is_another_name() {
        let mut names = Names::new();
        assert_eq!(names.layer(Some("h_1"), "fc").unwrap(), "h_1");
        assert_eq!(names.layer(Some("h"), "fc").unwrap(), "h");
        assert_eq!(names.layer(Some("h"), "fc"), Err(Nameless::Taken { name: "h_1".into() }));
    }
}
