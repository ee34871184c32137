//! The catalogue of messages. Each has an id, and says what was found, what is expected, and what to do.
//!
//! Every id has a case in `tests/tests/compile_fail/`, or for a warning in `tests/tests/doubts/`, whose marker `//~ id`
//! is on the line to blame. `paddle-macros/language/tests/cases.rs` compares line and column, and has the cases of ids
//! that only run-time compilation reports.

use std::fmt;

use strsim::osa_distance;

macro_rules! messages {
    ($($(#[doc = $doc:literal])* $id:literal $name:ident { $($field:ident),* } $text:literal)*) => {
        /// A message, with its parameters.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Message {
            $($(#[doc = $doc])* $name { $($field: String),* },)*
        }

        impl Message {
            /// The ids, in the order of the catalogue.
            pub const IDS: &'static [&'static str] = &[$($id),*];

            /// The id.
            pub fn id(&self) -> &'static str {
                match self {
                    $(Message::$name { .. } => $id,)*
                }
            }
        }

        impl fmt::Display for Message {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Message::$name { $($field),* } => write!(f, $text),)*
                }
            }
        }
    };
}

messages! {
    /// The tokens are not valid Rust.
    "syntax" Syntax { text } "{text}"
    /// A feature that is designed but not built.
    "not-supported" NotSupported { what, instead } "not supported yet: {what}; {instead}"
    /// Rust that the language does not have.
    "not-of-the-language" NotOfTheLanguage { what, instead } "{what} is not part of the language of networks; {instead}"
    /// A macro of Rust.
    "macro" Macro { name } "`{name}!` is a Rust macro, and a network is not run by Rust; use layers and operators, or compute the value outside and feed it as an input"
    /// A method of Rust.
    "method" Method { name, instead } "values of a network have no method `.{name}(..)`; {instead}"
    /// A path to something of Rust.
    "rust-path" RustPath { path, instead } "`{path}` is a path to Rust code, which a network cannot call or read; {instead}"
    /// A name under `f32` or its kin that is no number, or none that networks have.
    "no-such-number" NoSuchNumber { path, hint } "networks have no number `{path}`{hint}"
    /// Not a type of the language.
    "type-syntax" TypeSyntax { found } "{found} is not a type of the language; write `Tensor<f32, _, 784>`: the element type, `_` for the rows of the batch, then the dimensions"
    /// An element type that does not exist.
    "unknown-element-type" UnknownElementType { found, hint } "there is no element type `{found}`{hint}; there are `f32`, `f64`, `i32`, `i64` and `bool`"
    /// An input without a complete type.
    "input-type" InputType { name } "the input `{name}` needs its type: write `{name}: Tensor<f32, _, 784>`"
    /// `_` behind the first dimension.
    "batch-position" BatchPosition { name } "`_` is the batch, which is the first dimension of a type only; give this dimension of `{name}` a number or a name"
    /// A module without a network.
    "no-topology" NoTopology { name } "`{name}` has no network to run; write at least one `pub fn`"
    /// A name that other modules cannot import.
    "not-importable" NotImportable { name, why } "`{name}` cannot be imported: {why}"
    /// A file that is no model, or one that the language cannot say.
    "model" Model { path, why } "the model `{path}` cannot be included: {why}"
    /// Two items of the same name.
    "duplicate" Duplicate { name } "there are two `{name}`s here; give one of them another name"

    /// No such variable.
    "unknown-variable" UnknownVariable { name, hint } "there is no variable `{name}` here{hint}"
    /// No such layer.
    "unknown-layer" UnknownLayer { name, hint } "there is no layer or `fn` `{name}`{hint}"
    /// No such argument.
    "unknown-argument" UnknownArgument { callee, name, hint } "`{callee}` has no argument `{name}`{hint}"
    /// No such activation.
    "unknown-activation" UnknownActivation { name, hint } "there is no activation `{name}`{hint}"
    /// No such initialiser.
    "unknown-initializer" UnknownInitializer { name, hint } "there is no initialiser `{name}`{hint}"
    /// Too few or too many arguments.
    "argument-count" ArgumentCount { callee, takes, found } "`{callee}` takes {takes}, but {found}"
    /// A `fn` without a body that is no operator.
    "no-operator" NoOperator { name, why } "`{name}` cannot be an operator: {why}"
    /// A parameter of a gradient with an unknown name.
    "gradient-parameter" GradientParameter { gradient, name, operator, known } "`{name}` of `{gradient}` stands for nothing: the parameters of the gradient of `{operator}` may be {known}"
    /// An argument given twice.
    "repeated-argument" RepeatedArgument { name } "`{name}` is given twice"
    /// An argument of the wrong kind, such as a value where a size is expected.
    "argument-kind" ArgumentKind { callee, name, expected, found } "`{name}` of `{callee}` is {expected}, but this is {found}"
    /// A layer or sub-network used as a value.
    "not-a-value" NotAValue { name, what } "`{name}` is {what}, not a value; call it: `{name}(..)`"
    /// A value called.
    "not-callable" NotCallable { name } "`{name}` is a value, not a layer or `fn`; it cannot be called"
    /// A variable used after the end of its block.
    "out-of-block" OutOfBlock { name, line } "`{name}` is declared inside the block that begins at line {line}, and ends with it; declare it before the block, or give it out as the block's value: `let {name} = .. {{ .. {name} }};`"
    /// Recursion.
    "recursion" Recursion { cycle } "{cycle}: a sub-network is inlined where it is called, so it cannot call itself; for repetition use `while`"
    /// An assignment to something that cannot change.
    "assign" Assign { name, why } "`{name}` cannot be assigned here: {why}"

    /// Read before assignment.
    "unassigned" Unassigned { name } "`{name}` is read before it is assigned; give it a value on every way that leads here"
    /// A tuple where a value is expected, or a value where a tuple is expected.
    "tuple" Tuple { found, expected } "this is {found}, but {expected}"
    /// A body without a value.
    "no-value" NoValue { what } "{what} has no value; end its block with an expression without `;`"
    /// An `if` whose value is used has no `else`.
    "no-else" NoElse {} "this `if` has a value where its condition is true, but none where it is false; add `else {{ .. }}`"
    /// A condition that is neither per row nor scalar.
    "condition" Condition { found } "{found}, but a condition is one truth value per row, bool [_] or [_, 1], or a scalar"
    /// A result without rows where the rows split.
    "one-value" OneValue { what, found } "{what} is {found}: one value for all rows, but the rows split here; give every row its value, or compute it outside"
    /// Branches whose results differ in type.
    "branch-change" BranchChange { what, yes, no } "{what} is {yes} where the condition is true, but {no} where it is false; both branches need one type"
    /// A loop that changes the type of its state.
    "loop-change" LoopChange { name, before, after, hint } "`{name}` is {before} before the loop, but {after} after an iteration; the state of a loop keeps its type{hint}"
    /// A wrong element type.
    "element-type" ElementType { text } "{text}"
    /// Shapes that do not fit together.
    "shape" Shape { text } "{text}"
    /// Values of different row spaces.
    "row-spaces" RowSpaces { text } "{text}"
    /// An outside size whose value would have to be known.
    "undecided-size" UndecidedSize { size } "the value of `{size}` is not known while the network is compiled: it can be a size of types and layers, and a number in the computation, but it decides no `if`, no `for` and no setting of a layer; for these, write the number out, or declare it as a `const` with its value in this network"
    /// A value that does not have its declared type.
    "declared-type" DeclaredType { what, found, declared, expected } "{what} is {found}, but {declared} is {expected}"
    /// A constant that does not fit.
    "constant" Constant { text } "{text}"
    /// A value of the right type, but with a meaning that the layer does not expect.
    "meaning" Meaning { words, made, takes, instead } "{words} is what {made}, but {takes}; {instead}; if it is meant, write `identity(..)` around it"
    /// A softmax of one class.
    "one-class" OneClass { words, found, why } "{words} is {found}: {why}"
    /// An unused value.
    "unused-value" UnusedValue { what, instead } "nothing uses {what}; {instead}"
    /// A condition that no iteration changes.
    "unchanging-condition" UnchangingCondition {} "nothing in this loop changes its condition, so it would not end once it has begun; assign in its body what the condition reads, or leave it by `break`"
    /// A variable declared in a loop that hides the variable it is computed from.
    "shadowed-state" ShadowedState { name } "this `{name}` is a new variable, which ends with the iteration, and the `{name}` that it is computed from never changes; to change that write `{name} = ..` without `let`, and `let mut {name}` before the loop; else give the new one another name"
    /// A value of the network where a value known at compile time is needed.
    "static" Static { what, found, instead } "{what} is decided when the network is compiled, but {found}; {instead}"
    /// A `match` whose value fits no arm.
    "no-arm" NoArm { found } "no arm fits {found}; add `_ => ..`"
    /// A layer repeated by a `for` without a name.
    "repeated-parameters" RepeatedParameters { what, variable } "`{what}` is repeated by a `for`, so its parameters need a name: `param = \"block{{{variable}}}\"` makes new ones for each `{variable}`, a name without braces shares one set"
    /// A sub-network called twice without a name.
    "second-call" SecondCall { callee, layer, arguments } "`{callee}` is called a second time, and its `{layer}` has no name of its own: for shared parameters name them in `{callee}` (`param = \"{callee}\"`), for new ones name this call (`{callee}({arguments}, param = \"other\")`)"
    /// Two different things that would get the same parameter name.
    "taken-name" TakenName { name } "these parameters would be named `{name}`, which another binding or sub-network has; rename one of both, or write `param = \"..\"`"
    /// Two uses of a parameter that disagree.
    "parameter-conflict" ParameterConflict { name, here, first, place } "parameter `{name}` is {here} here, but {first} where it was first used, at {place}\n  one name is one parameter: give one of them another name with `param = \"..\"`"
    /// A topology with a reserved name.
    "reserved-name" ReservedName { name } "`{name}` is the name of the module that has the names of the parameters; give this network another name"
    /// A text that cannot be a parameter name.
    "parameter-name" ParameterName { found } "\"{found}\" cannot be a name; write words of letters, digits and `_`, joined by `.`: \"encoder.embedding\""
    /// A parameter name whose braces cannot be filled in.
    "name-template" Template { found, why } "\"{found}\" cannot be filled in: {why}; write `{{i}}` for the value of `i`, `{{{{` for a brace"
    /// Something too large or too deep for a program.
    "limit" Limit { text } "{text}"
    /// A parameter that no output depends on.
    "unused-parameter" UnusedParameter { name } "no result depends on the parameter `{name}`; use what its layer gives, or remove the layer; if it is left out on purpose, bind what is unused to `_`"
    /// A parameter of a cost that has no differentiable path to it.
    "no-gradient" NoGradient { name, ended } "parameter `{name}` has no differentiable path to the cost, so it cannot be trained: {ended} has no derivative; train on a distance such as `mean(square(x - y))`; if the parameter is to stay as it is, put `stop_gradient(..)` around what is made of it"
    /// An unused input.
    "unused-input" UnusedInput { name } "the input `{name}` is fed but never used; use it, or remove it"
    /// Something of the surrounding code, in a source that is compiled at run time.
    "code-around" CodeAround { what, instead } "{what} is of the code around, which is not there when a source is compiled by itself; {instead}"
    /// No network, or several, where one is asked for.
    "which-network" WhichNetwork { asked, names } "{asked}; this source has {names}"
}

/// "; did you mean `price`?", if a candidate is close; otherwise an empty text.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    if let Some(same) = candidates.iter().find(|candidate| plain(candidate) == plain(name)) {
        return format!("; did you mean `{same}`?");
    }
    // For a name of one letter, every other letter is equally close.
    let length = name.chars().count();
    let limit = (length / 3).max(1).min(length.saturating_sub(1));
    let near = candidates.iter().map(|candidate| (osa_distance(name, candidate), *candidate));
    let near = near.filter(|(distance, _)| *distance <= limit).min().map(|(_, candidate)| candidate);
    let alike = candidates.iter().copied().filter(|candidate| shares_words(name, candidate));
    match near.or_else(|| alike.min_by_key(|candidate| candidate.len().abs_diff(name.len()))) {
        Some(candidate) => format!("; did you mean `{candidate}`?"),
        None => String::new(),
    }
}

/// Whether two names share words: one is the last words of the other, as `sum` is of `reduce_sum`, or the candidate
/// begins with the name, as `conv2d` does with `conv`. The first words of a candidate do not count otherwise:
/// `square_root` is no `square`. A shared word has more than two letters.
fn shares_words(name: &str, candidate: &str) -> bool {
    if name.len().min(candidate.len()) < 3 {
        return false;
    }
    let behind = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('_'));
    behind(name, candidate) || behind(candidate, name) || candidate.starts_with(name)
}

/// "; did you mean `max`?" if a candidate is close, otherwise the list of all candidates.
pub fn one_of<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let hint = did_you_mean(name, candidates.iter().copied());
    if !hint.is_empty() {
        return hint;
    }
    let all: Vec<String> = candidates.iter().map(|candidate| format!("`{candidate}`")).collect();
    format!("; there are {}", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_near() {
        assert_eq!(did_you_mean("sofmax", ["softmax", "mean"]), "; did you mean `softmax`?");
        assert_eq!(did_you_mean("tahn", ["tanh"]), "; did you mean `tanh`?");
        assert_eq!(did_you_mean("LeakyReLU", ["elu", "leaky_relu"]), "; did you mean `leaky_relu`?");
        assert_eq!(did_you_mean("conv", ["softmax", "mean"]), "");
        assert_eq!(did_you_mean("q", ["x", "y"]), "");
        assert_eq!(did_you_mean("reduce_sum", ["mean", "sum", "cumsum"]), "; did you mean `sum`?");
        assert_eq!(did_you_mean("conv", ["conv2d_transpose", "conv2d"]), "; did you mean `conv2d`?");
        assert_eq!(did_you_mean("pooled", ["pool2d", "led"]), "; did you mean `pool2d`?");
        assert_eq!(did_you_mean("summary", ["sum", "mary"]), "");
        assert_eq!(did_you_mean("square_root", ["square"]), "");
    }
}
