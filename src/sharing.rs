//! Parameters that networks share: whether they agree on them, found out by rustc.
//!
//! [`Parameters::create`](crate::Parameters::create) and [`parameters!`](crate::parameters!) compare what the macros
//! have written down of each network. What is only known at run time is compared there, with the same text.

use crate::const_text::Text;

/// How a network uses a parameter. The macros write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamUse {
    /// Its element type.
    pub dtype: &'static str,
    /// Its shape; [`ParamUse::UNKNOWN`] for sizes that are known at run time.
    pub shape: &'static [i64],
    /// The initialiser that was asked for.
    pub initializer: Option<&'static str>,
    /// Whether it is trained.
    pub trainable: bool,
    /// The options that were asked for: `lr`, `decay`, `clip`.
    pub options: [Option<&'static str>; 3],
}

impl ParamUse {
    /// A size that is known at run time.
    pub const UNKNOWN: i64 = -1;

    const OPTIONS: [&'static str; 3] = ["lr", "decay", "clip"];

    /// How it is used, as far as that differs from another use; `None` where both agree.
    const fn differs(&self, other: &ParamUse) -> Option<Text> {
        if !same(self.dtype, other.dtype) {
            return Some(Text::new().str(self.dtype).shape(self.shape));
        }
        if !fits(self.shape, other.shape) {
            return Some(Text::new().shape(self.shape));
        }
        if let (Some(own), Some(initializer)) = (self.initializer, other.initializer)
            && !same(own, initializer)
        {
            return Some(Text::new().str("initialised by `").str(own).str("`"));
        }
        if self.trainable != other.trainable {
            let how = if self.trainable { "trained" } else { "a statistic, which is not trained" };
            return Some(Text::new().str(how));
        }
        let mut at = 0;
        while at < Self::OPTIONS.len() {
            if let (Some(own), Some(option)) = (self.options[at], other.options[at])
                && !same(own, option)
            {
                let text = Text::new().str("trained with `").str(Self::OPTIONS[at]);
                return Some(text.str(" = ").str(own).str("`"));
            }
            at += 1;
        }
        None
    }
}

/// The parameters of a network, sorted by name. The macros write them, in few tokens: there may be hundreds of parameters, and
/// rustc looks at each token.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpecs {
    /// Of each parameter its name and where it is first used, `src/lib.rs:7:12`, one behind the other.
    pub texts: &'static str,
    /// Of each parameter where its name begins in `texts`, where its place begins, and which of `uses` it has: numbers of
    /// [`ParamSpecs::DIGITS`] bytes, the lowest first.
    pub parts: &'static [u8],
    /// The ways in which parameters are used, each once.
    pub uses: &'static [ParamUse],
}

impl ParamSpecs {
    /// No parameters.
    pub const NONE: ParamSpecs = ParamSpecs { texts: "", parts: &[], uses: &[] };

    /// How many bytes a number takes in `parts`.
    pub const DIGITS: usize = 4;

    /// How many parameters these are.
    pub const fn len(&self) -> usize {
        self.parts.len() / (3 * Self::DIGITS)
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The name of a parameter.
    pub const fn name(&self, at: usize) -> &'static str {
        self.part(3 * at, 3 * at + 1).as_str()
    }

    /// Where a parameter is first used: file, line, column.
    pub const fn place(&self, at: usize) -> &'static str {
        self.part(3 * at + 1, 3 * at + 3).as_str()
    }

    /// How a parameter is used.
    pub const fn usage(&self, at: usize) -> &'static ParamUse {
        &self.uses[self.number(3 * at + 2)]
    }

    const fn part(&self, start: usize, end: usize) -> Part {
        Part { text: self.texts, start: self.number(start), end: self.number(end) }
    }

    /// A number of `parts`. Behind the last one is the end of `texts`.
    const fn number(&self, at: usize) -> usize {
        let (parts, at) = (self.parts, at * Self::DIGITS);
        if at == parts.len() {
            return self.texts.len();
        }
        u32::from_le_bytes([parts[at], parts[at + 1], parts[at + 2], parts[at + 3]]) as usize
    }
}

/// A part of a text. To cut it out would take most of the time of comparing names: rustc evaluates that step by step.
#[derive(Clone, Copy)]
struct Part {
    text: &'static str,
    start: usize,
    end: usize,
}

impl Part {
    const fn whole(text: &'static str) -> Self {
        Part { text, start: 0, end: text.len() }
    }

    const fn as_str(self) -> &'static str {
        self.text.split_at(self.end).0.split_at(self.start).1
    }
}

/// What to do about a conflict.
pub(crate) const HELP: &str =
    "\n  one name is one parameter: give one of them another name with `param = \"..\"`";

/// A network beside another one. The macros make it: rustc shows what is wrong there, at the network's place.
pub trait Agreeing {
    /// Fails to compile unless the two agree on the parameters that they share.
    const AGREES: ();
}

/// What is known at run time only.
impl Agreeing for () {
    const AGREES: () = ();
}

/// Panics unless all of these networks agree on the parameters that they share. Each one's are sorted by name.
#[track_caller]
pub const fn agree(networks: &[ParamSpecs]) {
    let mut rest = networks;
    while let [others @ .., network] = rest {
        agree_with(others, network);
        rest = others;
    }
}

/// Panics unless a network agrees with each of the others.
#[track_caller]
pub const fn agree_with(others: &[ParamSpecs], network: &ParamSpecs) {
    let mut at = 0;
    while at < others.len() {
        if let Some((first, second)) = disagreement(&others[at], network) {
            conflict(&others[at], first, network, second);
        }
        at += 1;
    }
}

/// The first parameter that two networks use in ways that do not agree: which one it is of each.
const fn disagreement(first: &ParamSpecs, second: &ParamSpecs) -> Option<(usize, usize)> {
    let (mut i, mut j) = (0, 0);
    while i < first.len() && j < second.len() {
        let order = order(first.part(3 * i, 3 * i + 1), second.part(3 * j, 3 * j + 1));
        if order == 0 && first.usage(i).differs(second.usage(j)).is_some() {
            return Some((i, j));
        }
        i += (order <= 0) as usize;
        j += (order >= 0) as usize;
    }
    None
}

#[track_caller]
const fn conflict(first: &ParamSpecs, i: usize, second: &ParamSpecs, j: usize) {
    let (one, other) = (first.usage(i), second.usage(j));
    if let (Some(is), Some(but)) = (one.differs(other), other.differs(one)) {
        let text = Text::new().str("parameter `").str(first.name(i)).str("` is ").str(is.as_str());
        let text = text.str(" at ").str(first.place(i)).str(", but ").str(but.as_str());
        let text = text.str(" at ").str(second.place(j)).str(HELP);
        panic!("{}", text.as_str());
    }
}

/// Whether the sizes that are known are the same.
const fn fits(a: &[i64], b: &[i64]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] && a[at] != ParamUse::UNKNOWN && b[at] != ParamUse::UNKNOWN {
            return false;
        }
        at += 1;
    }
    a.len() == b.len()
}

const fn same(a: &'static str, b: &'static str) -> bool {
    order(Part::whole(a), Part::whole(b)) == 0
}

/// Below 0 if `a` comes first, above if `b` does.
const fn order(a: Part, b: Part) -> i32 {
    let (x, y, mut i, mut j) = (a.text.as_bytes(), b.text.as_bytes(), a.start, b.start);
    while i < a.end && j < b.end {
        if x[i] != y[j] {
            return x[i] as i32 - y[j] as i32;
        }
        i += 1;
        j += 1;
    }
    (i < a.end) as i32 - (j < b.end) as i32
}

/// Creates one set of parameters for networks of modules, given by their paths: `parameters![gan::d0, gan::d1]?`.
///
/// It is [`Parameters::create`](crate::Parameters::create), whose check it makes earlier: a parameter that the networks
/// do not agree on is an error of `cargo check` already, and in editors. Networks with const parameters, or with sizes
/// of the caller's, are given to `create`.
///
/// ```
/// use paddle::attribute::network;
///
/// #[network]
/// mod line {
///     fn price(x: _) -> Tensor<f32, _, 1> {
///         fc(x, 1, param = "line")
///     }
///     pub fn cost(x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
///         mean(square(price(x) - y))
///     }
///     pub fn predict(x: Tensor<f32, _, 2>) -> Tensor<f32, _, 1> {
///         price(x)
///     }
/// }
///
/// let parameters = paddle::parameters![line::cost, line::predict]?;
/// assert_eq!(parameters.len(), 2);
/// # Ok::<(), paddle::Error>(())
/// ```
#[macro_export]
macro_rules! parameters {
    ($($($segment:ident)::+),+ $(,)?) => {{
        const _: () = $crate::sharing::agree(&[$(<$($segment)::+::Spec as $crate::Spec>::PARAMS),+]);
        $crate::Parameters::create(($(&$($segment)::+(),)+))
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    const W: ParamUse =
        ParamUse { dtype: "f32", shape: &[13, 4], initializer: None, trainable: true, options: [None; 3] };

    /// Networks whose parameters have names of one letter and places of two.
    fn specs(texts: &'static str, uses: &[ParamUse]) -> ParamSpecs {
        let parts = (0..uses.len()).flat_map(|at| [3 * at, 3 * at + 1, at]);
        let parts: Vec<u8> = parts.flat_map(|part| (part as u32).to_le_bytes()).collect();
        ParamSpecs { texts, parts: parts.leak(), uses: uses.to_vec().leak() }
    }

    fn texts(second: ParamUse) -> Option<(String, String)> {
        let (first, second) = (specs("A:1D:2Z:3", &[W, W, W]), specs("D:4Z:5", &[second, W]));
        let (i, j) = disagreement(&first, &second)?;
        assert_eq!([first.name(i), first.place(i), second.name(j), second.place(j)], ["D", ":2", "D", ":4"]);
        assert_eq!([first.place(2), second.place(1)], [":3", ":5"]);
        let (first, second) = (first.usage(i), second.usage(j));
        Some((first.differs(second)?.as_str().into(), second.differs(first)?.as_str().into()))
    }

    #[test]
    fn what_is_left_out_or_unknown_agrees() {
        assert_eq!(texts(W), None);
        assert_eq!(texts(ParamUse { initializer: Some("xavier()"), ..W }), None);
        assert_eq!(texts(ParamUse { shape: &[ParamUse::UNKNOWN, 4], ..W }), None);
        for name in ["B", "E"] {
            let other = specs(name, &[ParamUse { shape: &[1], ..W }]);
            assert_eq!(disagreement(&specs("A:1D:2Z:3", &[W, W, W]), &other), None);
        }
    }

    #[test]
    fn each_difference_is_shown() {
        let both = |a: &str, b: &str| Some((a.to_string(), b.to_string()));
        assert_eq!(texts(ParamUse { shape: &[13], ..W }), both("[13, 4]", "[13]"));
        assert_eq!(texts(ParamUse { shape: &[-1, 5], ..W }), both("[13, 4]", "[-1, 5]"));
        assert_eq!(texts(ParamUse { dtype: "f64", ..W }), both("f32[13, 4]", "f64[13, 4]"));
        let statistic = ParamUse { trainable: false, ..W };
        assert_eq!(texts(statistic), both("trained", "a statistic, which is not trained"));
        let (first, second) = ([Some("0.1"), None, Some("1.0")], [Some("0.1"), Some("0.5"), Some("2.0")]);
        let (first, second) = (ParamUse { options: first, ..W }, ParamUse { options: second, ..W });
        assert_eq!(first.differs(&second).unwrap().as_str(), "trained with `clip = 1.0`");
        let [x, y] = ["xavier()", "msra()"].map(|text| ParamUse { initializer: Some(text), ..W });
        assert_eq!(y.differs(&x).unwrap().as_str(), "initialised by `msra()`");
    }
}
