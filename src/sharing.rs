//! Parameters that networks share: whether they agree on them, found out by rustc.
//!
//! [`Parameters::create`](crate::Parameters::create) and [`parameters!`](crate::parameters!) compare what the macros
//! have written down of each network. What is only known at run time is compared there, with the same text.

use crate::const_text::Text;

/// A parameter as a network uses it. The macros write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamSpec {
    /// Its full name.
    pub name: &'static str,
    /// Its element type.
    pub dtype: &'static str,
    /// Its shape; [`ParamSpec::UNKNOWN`] for sizes that are known at run time.
    pub shape: &'static [i64],
    /// The initialiser that was asked for.
    pub initializer: Option<&'static str>,
    /// Whether it is trained.
    pub trainable: bool,
    /// The options that were asked for: `lr`, `decay`, `clip`.
    pub options: [Option<&'static str>; 3],
    /// Where it is first used: file, line, column.
    pub place: &'static str,
}

impl ParamSpec {
    /// A size that is known at run time.
    pub const UNKNOWN: i64 = -1;

    const OPTIONS: [&'static str; 3] = ["lr", "decay", "clip"];

    /// How it is used, as far as that differs from another use; `None` where both agree.
    const fn differs(&self, other: &ParamSpec) -> Option<Text> {
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
pub const fn agree(networks: &[&[ParamSpec]]) {
    let mut rest = networks;
    while let [others @ .., network] = rest {
        agree_with(others, network);
        rest = others;
    }
}

/// Panics unless a network agrees with each of the others.
#[track_caller]
pub const fn agree_with(others: &[&[ParamSpec]], network: &[ParamSpec]) {
    let mut at = 0;
    while at < others.len() {
        if let Some((first, second)) = disagreement(others[at], network) {
            conflict(first, second);
        }
        at += 1;
    }
}

/// The first parameter that two networks use in ways that do not agree.
const fn disagreement<'a>(
    first: &'a [ParamSpec],
    second: &'a [ParamSpec],
) -> Option<(&'a ParamSpec, &'a ParamSpec)> {
    let (mut i, mut j) = (0, 0);
    while i < first.len() && j < second.len() {
        let order = order(first[i].name, second[j].name);
        if order == 0 && first[i].differs(&second[j]).is_some() {
            return Some((&first[i], &second[j]));
        }
        i += (order <= 0) as usize;
        j += (order >= 0) as usize;
    }
    None
}

#[track_caller]
const fn conflict(first: &ParamSpec, second: &ParamSpec) {
    if let (Some(is), Some(but)) = (first.differs(second), second.differs(first)) {
        let text = Text::new().str("parameter `").str(first.name).str("` is ").str(is.as_str());
        let text = text.str(" at ").str(first.place).str(", but ").str(but.as_str());
        let text = text.str(" at ").str(second.place).str(HELP);
        panic!("{}", text.as_str());
    }
}

/// Whether the sizes that are known are the same.
const fn fits(a: &[i64], b: &[i64]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] && a[at] != ParamSpec::UNKNOWN && b[at] != ParamSpec::UNKNOWN {
            return false;
        }
        at += 1;
    }
    a.len() == b.len()
}

const fn same(a: &str, b: &str) -> bool {
    order(a, b) == 0
}

/// Below 0 if `a` comes first, above if `b` does.
const fn order(a: &str, b: &str) -> i32 {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] {
            return a[at] as i32 - b[at] as i32;
        }
        at += 1;
    }
    (a.len() > at) as i32 - (b.len() > at) as i32
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

    const W: ParamSpec = ParamSpec {
        name: "D.w",
        dtype: "f32",
        shape: &[13, 4],
        initializer: None,
        trainable: true,
        options: [None; 3],
        place: "a.rs:1:2",
    };

    fn texts(second: ParamSpec) -> Option<(String, String)> {
        let (a, z) = (ParamSpec { name: "A.w", ..W }, ParamSpec { name: "Z.w", ..W });
        let (first, second) = ([a, W, z], [second, z]);
        let (first, second) = disagreement(&first, &second)?;
        Some((first.differs(second)?.as_str().into(), second.differs(first)?.as_str().into()))
    }

    #[test]
    fn what_is_left_out_or_unknown_agrees() {
        assert_eq!(texts(W), None);
        assert_eq!(texts(ParamSpec { initializer: Some("xavier()"), ..W }), None);
        assert_eq!(texts(ParamSpec { shape: &[ParamSpec::UNKNOWN, 4], ..W }), None);
        assert_eq!(texts(ParamSpec { name: "D", shape: &[1], ..W }), None);
        assert_eq!(texts(ParamSpec { name: "D.w0", shape: &[1], ..W }), None);
    }

    #[test]
    fn each_difference_is_shown() {
        let both = |a: &str, b: &str| Some((a.to_string(), b.to_string()));
        assert_eq!(texts(ParamSpec { shape: &[13], ..W }), both("[13, 4]", "[13]"));
        assert_eq!(texts(ParamSpec { shape: &[-1, 5], ..W }), both("[13, 4]", "[-1, 5]"));
        assert_eq!(texts(ParamSpec { dtype: "f64", ..W }), both("f32[13, 4]", "f64[13, 4]"));
        let statistic = ParamSpec { trainable: false, ..W };
        assert_eq!(texts(statistic), both("trained", "a statistic, which is not trained"));
        let (first, second) = ([Some("0.1"), None, Some("1.0")], [Some("0.1"), Some("0.5"), Some("2.0")]);
        let (first, second) = (ParamSpec { options: first, ..W }, ParamSpec { options: second, ..W });
        assert_eq!(first.differs(&second).unwrap().as_str(), "trained with `clip = 1.0`");
        let [x, y] = ["xavier()", "msra()"].map(|text| ParamSpec { initializer: Some(text), ..W });
        assert_eq!(y.differs(&x).unwrap().as_str(), "initialised by `msra()`");
    }
}
