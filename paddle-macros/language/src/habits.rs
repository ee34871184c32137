//! Habits: names that users of PyTorch, Keras, NumPy and Rust write, and what the language has instead.
//!
//! A row has a name, and the hint that a message gives for it. A name of the language itself is in no row.

/// The hint for a function.
pub(crate) fn of_call(name: &str) -> Option<&'static str> {
    find(CALLS, name).or_else(|| find(FUNCTIONS, name))
}

/// The hint for a method, `x.name(..)`.
pub(crate) fn of_method(name: &str) -> Option<&'static str> {
    find(CALLS, name)
}

/// The hint for a value.
pub(crate) fn of_value(name: &str) -> Option<&'static str> {
    find(VALUES, name)
}

/// The hint for a field, `x.name`.
pub(crate) fn of_field(name: &str) -> Option<&'static str> {
    find(FIELDS, name)
}

/// The hint for a named argument: the argument of another name, if `has` says that the layer has it; otherwise what to
/// do without one.
pub(crate) fn of_argument(name: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    let renamed = RENAMED.iter().find(|(habit, ours)| *habit == name && has(ours));
    let renamed = renamed.map(|(_, ours)| format!("it is called `{ours}` here"));
    renamed.or_else(|| find(ARGUMENTS, name).map(str::to_string))
}

/// The hint for an initialiser.
pub(crate) fn of_initializer(name: &str) -> Option<&'static str> {
    find(INITIALIZERS, name)
}

/// The hint for the first segment of a path, `torch::relu`.
pub(crate) fn of_path(first: &str) -> Option<&'static str> {
    find(PATHS, first)
}

type Habits = &'static [(&'static str, &'static str)];

fn find(rows: Habits, name: &str) -> Option<&'static str> {
    rows.iter().find(|(habit, _)| *habit == name).map(|(_, instead)| *instead)
}

const CALLS: Habits = &[
    // Layers with parameters.
    ("linear", "the fully connected layer is `fc(x, 64)`"),
    ("Linear", "the fully connected layer is `fc(x, 64)`"),
    ("dense", "the fully connected layer is `fc(x, 64)`"),
    ("Dense", "the fully connected layer is `fc(x, 64)`"),
    ("conv", "of images it is `conv2d(x, 16, 3, padding = 1)`, of sequences `sequence_conv(x, 16, 3)`"),
    ("batchnorm", "it is `batch_norm(x)`"),
    ("last", "the last token of a sequence is `sequence_pool(x, last)`"),
    ("first", "the first token of a sequence is `sequence_pool(x, first)`"),
    ("rnn", "write the cell in a `for` over the sequence, or take `lstm(x, 64)` or `gru(x, 64)`"),
    ("Conv1d", "it is `conv1d(x, 16, 3, padding = 1)`"),
    ("MultiheadAttention", "it is `multi_head_attention(x, x, x, 8)`"),
    ("LSTMCell", "it is `lstm_unit(x, h, c, 64)`"),
    ("GRUCell", "it is `gru_unit(x, h, 64)`"),
    ("Sequential", "write the layers one behind the other: `let h = fc(x, 64, act = relu);`"),
    // Pooling.
    ("max_pool2d", "it is `pool2d(x, 2, kind = max)`"),
    ("avg_pool2d", "it is `pool2d(x, 2, kind = avg)`"),
    ("MaxPooling2D", "it is `pool2d(x, 2, kind = max)`"),
    ("AveragePooling2D", "it is `pool2d(x, 2, kind = avg)`"),
    ("adaptive_avg_pool2d", "it is `adaptive_pool2d(x, 1, kind = avg)`"),
    ("global_average_pooling", "it is `global_pool2d(x, kind = avg)`"),
    // Shapes.
    ("cat", "values are joined by `concat([a, b], axis = 1)`"),
    ("concatenate", "values are joined by `concat([a, b], axis = 1)`"),
    ("hstack", "values are joined by `concat([a, b], axis = 1)`"),
    ("permute", "axes are moved by `transpose(x, [0, 2, 1])`"),
    ("swapaxes", "axes are moved by `transpose(x, [0, 2, 1])`"),
    ("view", "it is `reshape(x, [4, 16])`, the sizes behind the rows"),
    ("expand_dims", "it is `unsqueeze(x, 1)`"),
    ("repeat", "it is `tile(x, [2])`"),
    ("broadcast_to", "it is `expand(x, [4])`; values broadcast by themselves"),
    ("chunk", "it is `split(x, 3)`"),
    ("narrow", "a part is `slice(x, 1, 0, 4)`: the axis, where it begins and where it ends"),
    ("index_select", "it is `gather(x, index, axis = 1)`"),
    ("rot90", "turn axes with `transpose`, and turn round with `flip`"),
    // Arithmetic.
    ("clamp", "it is `clip(x, 0.0, 1.0)`"),
    ("absolute", "it is `abs(x)`"),
    ("power", "it is `pow(x, 2.0)`, or `square(x)`"),
    ("add", "write `a + b`"),
    ("subtract", "write `a - b`"),
    ("sub", "write `a - b`"),
    ("multiply", "write `a * b`"),
    ("divide", "write `a / b`"),
    ("div", "write `a / b`"),
    ("neg", "write `-x`"),
    ("negative", "write `-x`"),
    ("equal", "write `a == b`"),
    ("eq", "write `a == b`"),
    ("not_equal", "write `a != b`"),
    ("greater", "write `a > b`"),
    ("less", "write `a < b`"),
    ("logical_and", "write `a && b`"),
    ("logical_or", "write `a || b`"),
    ("logical_not", "write `!a`"),
    ("mm", "it is `matmul(a, b)`"),
    ("bmm", "it is `matmul(a, b)`"),
    ("dot", "it is `sum(a * b, axis = -1, keep_dim = true)`, or `matmul(a, b)`"),
    ("outer", "write `unsqueeze(a, 2) * unsqueeze(b, 1)`"),
    ("norm", "it is `sqrt(sum(square(x), axis = -1, keep_dim = true))`"),
    ("normalize", "it is `l2_normalize(x)`"),
    ("cosine_similarity", "it is `cos_sim(a, b)`"),
    ("masked_fill", "write `select(mask, -1e9, x)`: the condition, the value where it holds, and else"),
    ("reduce_mean", "it is `mean(x, axis = 1)`"),
    ("reduce_sum", "it is `sum(x, axis = 1)`"),
    ("reduce_max", "it is `max(x, axis = 1)`"),
    ("topk", "it is `top_k(x, 3)`"),
    ("sort", "it is `argsort(x)`, which gives the sorted values, too"),
    // Losses.
    ("MSELoss", "it is `mse_loss(a, b)`"),
    ("mean_squared_error", "it is `mse_loss(a, b)`"),
    ("mean_absolute_error", "it is `l1_loss(a, b)`"),
    ("smooth_l1_loss", "it is `smooth_l1(x, y)`"),
    ("nll_loss", "write `softmax_with_cross_entropy(logits, label)` of the logits"),
    ("CrossEntropyLoss", "of logits it is `softmax_with_cross_entropy(logits, label)`"),
    ("sparse_categorical_crossentropy", "of logits it is `softmax_with_cross_entropy(logits, label)`"),
    (
        "categorical_crossentropy",
        "of logits it is `softmax_with_cross_entropy(logits, label, soft_label = true)`",
    ),
    ("binary_cross_entropy", "of probabilities it is `bce_loss(p, label)`"),
    ("binary_crossentropy", "of probabilities it is `bce_loss(p, label)`"),
    ("binary_cross_entropy_with_logits", "it is `sigmoid_cross_entropy_with_logits(x, label)`"),
    ("bce_with_logits", "it is `sigmoid_cross_entropy_with_logits(x, label)`"),
    ("BCEWithLogitsLoss", "it is `sigmoid_cross_entropy_with_logits(x, label)`"),
    ("kl_div", "it is `kldiv_loss(log_softmax(x), p)`"),
    ("ctc_loss", "it is `warpctc(logits, label)`"),
    ("margin_ranking_loss", "it is `margin_rank_loss(label, left, right)`"),
    // Values of their own.
    ("ones_like", "write `zeros_like(x) + 1.0`"),
    ("eye", "a constant is an array: `[[1.0, 0.0], [0.0, 1.0]]`"),
    ("tensor", "a constant is an array: `[1.0, 0.5]`"),
    ("array", "a constant is an array: `[1.0, 0.5]`"),
    ("rand", "it is `uniform_random(x, [16])`: numbers for each row of `x`"),
    ("randn", "it is `gaussian_random(x, [16])`: numbers for each row of `x`"),
    ("randn_like", "it is `gaussian_random(x, [16])`: numbers for each row of `x`"),
    ("normal", "it is `gaussian_random(x, [16])`: numbers for each row of `x`"),
    ("linspace", "a constant is an array; whole numbers in order are `arange(10)`"),
    ("range", "what a `for` goes over is `0..4`; as a value it is `arange(4)`"),
    // Training, devices and gradients, which are no part of a network.
    ("detach", "it is `stop_gradient(x)`"),
    ("no_grad", "it is `stop_gradient(x)`"),
    ("requires_grad_", "parameters are made by layers; one by itself is `parameter([16])`"),
    ("backward", "gradients are taken by the trainer: the value of the network is the cost"),
    ("to", "another element type is `cast(x, f32)`; where it runs is not said in the network"),
    ("astype", "another element type is `cast(x, f32)`"),
    ("float", "it is `cast(x, f32)`"),
    ("long", "it is `cast(x, i64)`"),
    ("cpu", "where it runs is not said in the network"),
    ("cuda", "where it runs is not said in the network"),
    ("numpy", "what is to be fetched is a result of the network, or `tap(x, \"name\")`"),
    ("item", "what is to be fetched is a result of the network, or `tap(x, \"name\")`"),
    ("print", "what is to be seen is fetched: `tap(x, \"name\")`"),
    ("size", "sizes are named in types: with `x: Tensor<f32, _, D>` it is `D`"),
    ("dim", "sizes are named in types: with `x: Tensor<f32, _, D>` it is `D`"),
    // Rust.
    (
        "map",
        "what is done for each is written in a `for`, of which a value is collected: `for x in xs { square(x) }`",
    ),
    ("reversed", "it is `x.rev()`, of a sequence or an array"),
    ("step_by", "what a `for` goes over is written out: `[0, 2, 4]`"),
    ("fold", "a variable that the body of a `for` assigns is carried along: `h = tanh(h + x);`"),
    ("collect", "a `for` whose body ends with a value is a sequence of them"),
    ("clone", "values are used as they are, any number of times"),
    ("to_owned", "values are used as they are, any number of times"),
    ("unwrap", "layers do not fail: leave it out"),
    ("expect", "layers do not fail: leave it out"),
    ("Some", "a value is there or not by how the network is written; choose by row with `if`"),
    ("Ok", "layers do not fail: the value alone"),
    ("Box", "values are used as they are"),
];

/// Rust functions that are methods in the language, such as those on what a `for` iterates over.
const FUNCTIONS: Habits = &[
    ("len", "of a sequence or an array it is `x.len()`; a size is named in the type: `Tensor<f32, _, D>`"),
    ("iter", "a `for` goes over sequences, arrays and ranges as they are"),
    ("zip", "it is `a.zip(b)`; a `for` goes in step along several: `for (x, y) in (xs, ys)`"),
    ("enumerate", "it is `xs.enumerate()`, as in `for (i, x) in xs.enumerate()`"),
    ("rev", "it is `x.rev()`"),
];

const VALUES: Habits = &[
    ("True", "it is `true`"),
    ("False", "it is `false`"),
    ("None", "an argument is left out where it has a default"),
    ("self", "parameters are those of the layers; a network has no fields"),
    ("nan", "write a condition, `isnan(x)`; there is no such number to compute with"),
    ("inf", "a number that is large enough, `1e30`"),
    ("pi", "write `const PI: f32 = 3.14159265;`"),
    ("PI", "write `const PI: f32 = 3.14159265;`"),
    ("torch", "layers are called by their names alone: `relu(x)`"),
    ("np", "layers are called by their names alone: `tanh(x)`"),
    ("nn", "layers are called by their names alone: `fc(x, 64)`"),
    ("F", "layers are called by their names alone: `relu(x)`"),
];

const FIELDS: Habits = &[
    ("shape", "sizes are named in types: with `x: Tensor<f32, _, D>` it is `D`"),
    ("dtype", "the element type is the one of the declaration; another is `cast(x, f32)`"),
    ("T", "it is `transpose(x, [0, 2, 1])`, or `matmul(a, b, transpose_y = true)`"),
    ("data", "a value without its gradient is `stop_gradient(x)`"),
    ("grad", "gradients are taken by the trainer"),
    (
        "weight",
        "parameters are read from outside: `parameters.get::<f32>(..)`; one by itself is `parameter([16])`",
    ),
];

/// Arguments that have another name in the language.
const RENAMED: Habits = &[
    ("dim", "axis"),
    ("dims", "axes"),
    ("axes", "axis"),
    ("keepdim", "keep_dim"),
    ("keepdims", "keep_dim"),
    ("activation", "act"),
    ("nonlinearity", "act"),
    ("use_bias", "bias"),
    ("bias_initializer", "bias_init"),
    ("kernel_initializer", "init"),
    ("initializer", "init"),
    ("weight_init", "init"),
    ("weight", "w"),
    ("kernel", "w"),
    ("gamma", "scale"),
    ("beta", "shift"),
    ("weight_attr", "init"),
    ("param_attr", "param"),
    ("name", "param"),
    ("eps", "epsilon"),
    ("strides", "stride"),
    ("pad", "padding"),
    ("dilation_rate", "dilation"),
    ("learning_rate", "lr"),
    ("weight_decay", "decay"),
    ("negative_slope", "alpha"),
    ("mode", "kind"),
    ("pool_type", "kind"),
];

/// Arguments that the language does not have.
const ARGUMENTS: Habits = &[
    ("in_features", "how many come in is known from the value"),
    ("in_channels", "how many come in is known from the value"),
    ("input_size", "how many come in is known from the value"),
    ("input_shape", "the type of an input is declared: `x: Tensor<f32, _, 784>`"),
    ("out_features", "the size is given by its position: `fc(x, 64)`"),
    ("out_channels", "the number of filters is given by its position: `conv2d(x, 16, 3)`"),
    ("filters", "the number of filters is given by its position: `conv2d(x, 16, 3)`"),
    ("kernel_size", "the size of the window is given by its position: `conv2d(x, 16, 3)`"),
    ("units", "the size is given by its position: `fc(x, 64)`"),
    ("hidden_size", "the size is given by its position: `lstm(x, 64)`"),
    ("num_embeddings", "the table is given by its position: `embedding(ids, [1000, 64])`"),
    ("embedding_dim", "the table is given by its position: `embedding(ids, [1000, 64])`"),
    ("p", "the rate is given by its position: `dropout(x, 0.5)`"),
    ("training", "whether it is training is known: by `train` and `step` it is, in `infer` it is not"),
    ("inplace", "a layer changes nothing in place; bind what it gives"),
    ("reduction", "losses are for each row; reduce them with `mean(..)` or `sum(..)`"),
    ("dtype", "another element type is `cast(x, f32)`"),
    ("device", "where it runs is not said in the network"),
    ("requires_grad", "what is not to be trained is frozen in training, or `stop_gradient(x)`"),
    ("batch_first", "the rows of the batch are always first"),
    ("return_sequences", "the value is the whole sequence; its last token is `sequence_pool(x, last)`"),
];

const INITIALIZERS: Habits = &[
    ("zeros", "it is `constant(0.0)`"),
    ("zeros_", "it is `constant(0.0)`"),
    ("ones_", "it is `constant(1.0)`"),
    ("constant_", "it is `constant(0.1)`"),
    ("glorot", "it is `xavier()`"),
    ("glorot_uniform", "it is `xavier()`"),
    ("xavier_uniform", "it is `xavier()`"),
    ("xavier_uniform_", "it is `xavier()`"),
    ("kaiming", "it is `msra()`"),
    ("kaiming_normal", "it is `msra()`"),
    ("kaiming_normal_", "it is `msra()`"),
    ("he_normal", "it is `msra()`"),
    ("gaussian", "it is `normal(0.0, 0.02)`"),
    ("random_normal", "it is `normal(0.0, 0.02)`"),
    ("trunc_normal_", "it is `truncated_normal(0.0, 0.02)`"),
];

const PATHS: Habits = &[
    ("torch", "layers are called by their names alone: `relu(x)`"),
    ("nn", "layers are called by their names alone: `fc(x, 64)`"),
    ("np", "layers are called by their names alone: `tanh(x)`"),
    ("tf", "layers are called by their names alone: `relu(x)`"),
    ("paddle", "layers are called by their names alone: `relu(x)`"),
    (
        "std",
        "layers take the place of functions, and numbers are written out, also as `const`s of the network",
    ),
];

#[cfg(test)]
mod tests {
    use paddle_core::layers::{LIBRARY, Layer};
    use proc_macro2::{TokenStream, TokenTree};

    use super::*;
    use crate::tests::analyse;

    /// The messages of the front end for an expression in a network.
    fn said(expression: &str) -> Vec<String> {
        let source = format!("|x: Tensor<f32, _, 4>, s: Seq<i64>| {{ let y = {expression}; (x, s, y) }}");
        let analysis = analyse(source.parse().unwrap());
        analysis.reports.iter().map(|report| report.message.to_string()).collect()
    }

    fn says(expression: &str, instead: &str) {
        let said = said(expression);
        assert!(said.len() == 1 && said[0].contains(instead), "{expression}: {said:?}, not {instead}");
    }

    #[test]
    fn there_are_many() {
        let all = [CALLS, FUNCTIONS, VALUES, FIELDS, RENAMED, ARGUMENTS, INITIALIZERS, PATHS];
        assert!(all.iter().map(|rows| rows.len()).sum::<usize>() > 150);
    }

    #[test]
    fn each_call_is_told_what_to_write() {
        for (name, instead) in CALLS {
            says(&format!("{name}(x)"), instead);
            says(&format!("x.{name}()"), instead);
        }
        FUNCTIONS.iter().for_each(|(name, instead)| says(&format!("{name}(x)"), instead));
    }

    #[test]
    fn each_value_field_and_path_is_told_what_to_write() {
        for (name, instead) in VALUES.iter().filter(|(name, _)| *name != "self") {
            says(&format!("x + {name}"), instead);
        }
        FIELDS.iter().for_each(|(name, instead)| says(&format!("x.{name}"), instead));
        for (name, instead) in PATHS.iter().filter(|(name, _)| *name != "std") {
            says(&format!("{name}::relu(x)"), instead);
        }
    }

    #[test]
    fn each_argument_is_told_what_to_write() {
        for (name, ours) in RENAMED {
            let has = |layer: &&Layer| layer.named(ours).is_some() && layer.named(name).is_none();
            let Some(layer) = Layer::all().find(has) else { continue };
            let positional = vec!["x"; layer.positional.len()].join(", ");
            let said = said(&format!("{}({positional}, {name} = 1)", layer.name));
            let instead = format!("has no argument `{name}`; it is called `{ours}` here");
            assert!(said.iter().any(|message| message.contains(&instead)), "{name}: {said:?}");
        }
        ARGUMENTS.iter().for_each(|(name, instead)| says(&format!("softmax(x, {name} = 1)"), instead));
        INITIALIZERS.iter().for_each(|(name, instead)| says(&format!("fc(x, 4, init = {name}())"), instead));
    }

    /// The functions called in the code between backticks of a text.
    fn called(text: &str) -> Vec<String> {
        let code = text.split('`').skip(1).step_by(2);
        let tokens = code.flat_map(|code| code.parse::<TokenStream>().into_iter().flatten());
        let tokens: Vec<TokenTree> = flat(tokens.collect());
        let pairs = tokens.windows(2).filter_map(|pair| match pair {
            [TokenTree::Ident(ident), TokenTree::Group(group)]
                if group.delimiter() == proc_macro2::Delimiter::Parenthesis =>
            {
                Some(ident.to_string())
            }
            _ => None,
        });
        pairs.collect()
    }

    fn flat(tokens: Vec<TokenTree>) -> Vec<TokenTree> {
        let inner = |token: TokenTree| match &token {
            TokenTree::Group(group) => {
                let inner = flat(group.stream().into_iter().collect());
                [vec![token], inner].concat()
            }
            _ => vec![token],
        };
        tokens.into_iter().flat_map(inner).collect()
    }

    #[test]
    fn what_is_said_is_there_and_what_is_there_is_no_habit() {
        let is_layer = |name: &str| Layer::find(name).is_some() || LIBRARY.iter().any(|it| it.name == name);
        for (name, instead) in [CALLS, FUNCTIONS, VALUES, FIELDS, ARGUMENTS].into_iter().flatten() {
            assert!(!is_layer(name), "`{name}` is a layer");
            for called in called(instead) {
                let words = ["for", "in", "get", "len", "rev", "zip", "enumerate"];
                assert!(is_layer(&called) || words.contains(&&*called), "{name}: there is no `{called}`");
            }
        }
    }
}
