//! Sources that are compiled at run time: their programs are those of the macros, they train, and what only rustc knows is asked for.

use std::ops::Range;
use std::path::{Path, PathBuf};

use paddle::core::convert::to_wire;
use paddle::core::ops::Program;
use paddle::language::{Options, Severity, compile, compile_all};
use paddle::{Dynamic, Network, Parameters, Sgd, Trainer, network};

#[network::module]
mod line {
    const SIZES: [usize; 2] = [6, 5];

    fn deep(x: _) -> _ {
        let mut h = x;
        for (i, size) in SIZES.enumerate() {
            h = fc(h, size, act = relu, param = "deep{i}");
        }
        h
    }

    pub fn cost(x: Tensor<f32, _, 4>, words: Seq<i64>, y: Tensor<f32, _, 1>) -> Tensor<f32> {
        let text = gru(embedding(words, [20, 8], init = normal(0.0, 0.1)), 5);
        let mut h = deep(x) + sequence_pool(text, last);
        if sum(h, axis = 1) > 0.5 {
            h = h / 2.0;
        }
        while mean(h, axis = 1) > 1.0 {
            h = tanh(h);
        }
        mean(square(fc(h, 1) - y))
    }

    pub fn features(x: Tensor<f32, _, 4>) -> _ {
        deep(x)
    }
}

/// What stands between two lines of this file, at its place.
fn of_this_file(from: &str, to: &str) -> String {
    let text = include_str!("compiled.rs");
    let start = text.find(from).unwrap();
    let end = start + text[start..].find(to).unwrap() + to.len();
    alone(text, start..end)
}

/// A piece of a text at its place, with nothing else.
fn alone(text: &str, range: Range<usize>) -> String {
    let kept = |(at, c): (usize, char)| if range.contains(&at) || c == '\n' { c } else { ' ' };
    text.char_indices().map(kept).collect()
}

/// Two programs, with the places of their operators.
#[track_caller]
fn assert_same(compiled: &Program, of_macro: &Program) {
    assert_eq!(compiled.to_string(), of_macro.to_string());
    assert_eq!(to_wire(compiled), to_wire(of_macro));
}

#[test]
fn a_module_has_the_programs_of_the_macro() {
    let source = of_this_file("mod line {", "\n}\n");
    let options = Options::new().file(file!());
    let compiled = compile_all(&source, &options).unwrap();
    let [cost, features] = &compiled.topologies[..] else { panic!("two networks") };
    assert_eq!([cost.name.as_str(), features.name.as_str()], ["cost", "features"]);
    assert_same(&cost.program, line::cost().program().unwrap());
    assert_same(&features.program, line::features().program().unwrap());
}

#[test]
fn a_closure_has_the_program_of_the_macro() {
    let net = network!(|x: Tensor<f32, _, 4>, c: Tensor<bool, _>| {
        let h = if c { fc(x, 2) } else { fc(x, 2, param = "other") };
        softmax(h)
    });
    let source = of_this_file("|x: Tensor<f32, _, 4>, c", "softmax(h)\n    }");
    let compiled = compile::<([f32; 4], bool)>(&source, &Options::new().file(file!())).unwrap();
    assert_same(compiled.program().unwrap(), net.program().unwrap());
}

/// Sizes that are given are those that rustc knows.
#[test]
fn given_sizes_are_those_of_the_code_around() {
    let size = 4;
    let net = network!(move |x: Tensor<f32, _, crate::given::WIDTH>| fc(x, size)).unwrap();
    let source = of_this_file("move |x: Tensor<f32, _, crate::given::WIDTH>|", "fc(x, size)");
    let options = Options::new().file(file!()).size("size", size).size("crate::given::WIDTH", given::WIDTH);
    let compiled = compile::<Vec<f32>>(&source, &options).unwrap();
    assert_same(compiled.program().unwrap(), net.program().unwrap());
}

mod given {
    pub(crate) const WIDTH: usize = 3;
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// The module of an example, with the name of its file.
fn example(name: &str) -> (PathBuf, String) {
    let path = examples().join(name).with_extension("rs");
    let text = std::fs::read_to_string(&path).unwrap();
    let start = text.find("#[network]").unwrap() + "#[network]".len();
    let end = start + text[start..].find("\n}\n").unwrap() + 2;
    let source = alone(&text, start..end);
    (path, source)
}

#[test]
fn examples_have_the_programs_of_the_macro() {
    type Sizes = [(&'static str, usize)];
    let catalogue = &[("USERS", 3), ("ITEMS", 3), ("WORDS", 2), ("RATINGS", 1)];
    let texts = &[("VOCABULARY", 4), ("CLASSES", 3), ("WIDTH", 8)];
    let cases: [(&str, &str, &str, &Sizes); 18] = [
        ("adaptive", "cost", "adaptive", &[("VOCABULARY", 5), ("CLASSES", 3), ("WIDTH", 6)]),
        ("digits", "small_lenet", "digits", &[]),
        ("fit_a_line", "diabetes_cost", "fit_a_line", &[]),
        ("gan", "d0", "gan_d0", &[]),
        ("gan", "d1", "gan_d1", &[]),
        ("image_classification", "vgg_cost", "image_classification_vgg", &[]),
        ("image_classification", "resnet_class", "image_classification_resnet", &[]),
        ("inflect", "cost", "inflect_cost", &[("WIDTH", 4)]),
        ("inflect", "form", "inflect_form", &[("WIDTH", 4)]),
        ("mixture", "cost", "mixture", &[]),
        ("ranking", "cost", "ranking", &[("VOCABULARY", 9), ("WIDTH", 4)]),
        ("recommender_system/model", "cost", "recommender_system_cost", catalogue),
        ("translate", "cost", "translate_cost", &[("WIDTH", 4)]),
        ("translate", "beams", "translate_beams", &[("WIDTH", 4)]),
        ("sentiment", "convolution_cost", "sentiment_convolution", texts),
        ("sentiment", "lstm_cost", "sentiment_lstm", texts),
        ("sentiment", "attention_cost", "sentiment_attention", texts),
        ("word2vec", "cost", "word2vec_cost", &[("WORDS", 30), ("WIDTH", 6)]),
    ];
    // What two of them import.
    let (_, speller) = example("parts/speller");
    for (name, network, golden, sizes) in cases {
        let (_, source) = example(name);
        let golden = examples().join("golden").join(golden).with_extension("txt");
        let expected = std::fs::read_to_string(golden).unwrap();
        let options = Options::new().file(format!("examples/{name}.rs")).network(network);
        let options = options.source("crate::speller::speller", "examples/parts/speller.rs", &speller);
        let options = sizes.iter().fold(options, |options, (name, size)| options.size(*name, *size));
        let net = compile::<()>(&source, &options).unwrap_or_else(|said| panic!("{name}\n{said}"));
        assert_eq!(net.program().unwrap().to_string().trim(), expected.trim(), "{name}");
    }
}

#[test]
fn an_example_is_trained() {
    let (_, source) = example("fit_a_line");
    let net = compile::<([f32; 10], f32)>(&source, &Options::new().network("diabetes_cost")).unwrap();
    let mut parameters = Parameters::create(&net).unwrap();
    let rows: Vec<([f32; 10], f32)> = (0..8).map(|i| ([0.1 * i as f32; 10], 0.3 * i as f32 - 1.0)).collect();
    let mut trainer = Trainer::new(Sgd::new(0.05));
    let costs: Vec<f32> =
        (0..20).map(|_| trainer.step(&net, &mut parameters, &rows).unwrap().cost()).collect();
    assert!(costs[19] < costs[0] / 2.0, "{costs:?}");
}

/// Two networks of one source share their parameters, and rows that do not fit are refused when they are fed.
#[test]
fn networks_of_a_source_share() {
    let source = "
        fn line(x: _) -> _ { fc(x, 1) }
        pub fn cost(x: Tensor<f32, _, 2>, y: Tensor<f32, _, 1>) -> _ { mean(square(line(x) - y)) }
        pub fn price(x: Tensor<f32, _, 2>) -> _ { line(x) }
    ";
    let cost = compile::<([f32; 2], f32)>(source, &Options::new().network("cost")).unwrap();
    let price = compile::<[f32; 3]>(source, &Options::new().network("price")).unwrap();
    assert_eq!(Parameters::create((&cost, &price)).unwrap().names().count(), 2);
    assert!(price.batch([[0.0; 3]]).is_err());
    let all = compile_all(source, &Options::new()).unwrap();
    let price = Network::<Dynamic>::from_program(all.topologies[1].program.clone()).unwrap();
    assert_same(price.program().unwrap(), &all.topologies[1].program);
}

/// What is asked for, and what is said, with its place.
#[test]
fn what_only_rustc_knows_is_asked_for() {
    let parts = "pub fn half(x: Tensor<f32, _, N>) -> _ { x / 2.0 }\nfn hidden(x: _) -> _ { x }";
    let wrong = "pub fn half(x: _) -> _ { x / tow }";
    let around = "const around: usize = 1;";
    let with_parts = Options::new().source("parts", "parts.rs", parts);
    let two = "pub fn a(x: Tensor<f32, _>) -> _ { x }\npub fn b(x: Tensor<f32, _>) -> _ { -x }";
    for (source, options, expected) in [
        (
            "|x: Tensor<f32, _, crate::N>| fc(x, 2)",
            Options::new(),
            ("code-around", "net.rs:1:20", "`crate::N`"),
        ),
        (
            "move |x: Tensor<f32, _, 4>| fc(x, width)",
            Options::new(),
            ("code-around", "net.rs:1:35", "`width`"),
        ),
        (
            "const WORDS: usize;\npub fn f(x: Tensor<f32, _, WORDS>) -> _ { x }",
            Options::new(),
            ("code-around", "net.rs:1:7", "size(\"WORDS\""),
        ),
        (
            "pub fn f<const N: usize>(x: Tensor<f32, _, N>) -> _ { x }",
            Options::new(),
            ("code-around", "net.rs:1:16", "`N`"),
        ),
        (
            "|x: Tensor<f32, _, 4>| { const GATE: [f32; 4] = crate::GATE; x * GATE }",
            Options::new(),
            ("code-around", "net.rs:1:49", "write its elements"),
        ),
        (
            "|x: Tensor<f32, _, N>| { use parts::half; half(x) }",
            Options::new(),
            ("not-importable", "net.rs:1:37", "`network!`"),
        ),
        (
            "|x: Tensor<f32, _, N>| { use parts::hidden; hidden(x) }",
            with_parts.clone(),
            ("not-importable", "net.rs:1:37", "no `pub fn`"),
        ),
        (
            "|x: Tensor<f32, _, N>| { use parts::half; half(x) }",
            Options::new().source("parts", "parts.rs", wrong),
            ("unknown-variable", "parts.rs:1:30", "`tow`"),
        ),
        (
            "use a::b; pub fn c(x: Tensor<f32, _>) -> _ { b(x) }",
            Options::new().source("a", "a.rs", "use a::b; pub fn b(x: _) -> _ { b(x) }"),
            ("not-importable", "a.rs:1:8", "from itself"),
        ),
        (two, Options::new(), ("which-network", "net.rs:1:1", "`a`, `b`")),
        (two, Options::new().network("c"), ("which-network", "net.rs:1:1", "no network `c`")),
        (
            "|x: Tensor<f32, _, crate::N>, y: Tensor<f32, _, 3>| x + y",
            Options::new().size("crate::N", 2),
            ("shape", "net.rs:1:53", "2"),
        ),
        (
            "|x: Tensor<f32, _, crate::N>| fc(x, 2)",
            Options::new().size("crate::N", 0),
            ("shape", "net.rs:1", "0"),
        ),
        ("", Options::new(), ("not-of-the-language", "net.rs:1:1", "without a network")),
        ("|x: Tensor<f32, _>| { x", Options::new(), ("syntax", "net.rs:1:21", "does not end")),
        ("|x: Tensor<f32, _>| \"x", Options::new(), ("syntax", "net.rs:1:21", "does not end")),
        (around, Options::new(), ("no-topology", "net.rs:1:1", "`net`")),
    ] {
        let said = compile::<()>(source, &options.file("net.rs")).expect_err(source);
        let (id, place, text) = expected;
        let printed = said.to_string();
        assert!(
            said[0].id == id && printed.contains(place) && printed.contains(text),
            "{source}\n{} {printed}",
            said[0].id
        );
    }
}

#[test]
fn sources_import_from_one_another() {
    let options = Options::new()
        .source("base", "base.rs", "pub const SIZE: usize = 3;\npub fn same(x: Tensor<f32, _>) -> _ { x }")
        .source(
            "parts",
            "parts.rs",
            "use base::SIZE;\n#[layer]\npub fn wide(x: _) -> _ {\n    fc(x, SIZE)\n}",
        );
    let net = compile::<[f32; 4]>("|x: Tensor<f32, _, 4>| { use parts::wide; wide(x) }", &options).unwrap();
    let program = net.program().unwrap();
    assert!(program.find("wide.fc.w").is_some());
    assert!(program.files().contains(&"parts.rs".to_string()), "{:?}", program.files());
    let said = compile::<[f32; 4]>("|x: Tensor<f32, _, 4>| { use parts::wide; wide(x) + x }", &options);
    assert!(said.is_err());
}

#[test]
fn predicates_hold_as_given() {
    let source = "
        #[cfg(feature = \"wide\")]
        const SIZE: usize = 8;
        #[cfg(not(feature = \"wide\"))]
        const SIZE: usize = 2;
        pub fn net(x: Tensor<f32, _, 4>) -> _ { fc(x, SIZE) }
    ";
    let shape = |options: &Options| {
        let net = compile::<[f32; 4]>(source, options).unwrap();
        Parameters::create(&net).unwrap().get::<f32>("fc.w").unwrap().shape().to_vec()
    };
    assert_eq!(shape(&Options::new()), [4, 2]);
    assert_eq!(shape(&Options::new().cfg("feature = \"wide\"")), [4, 8]);
}

#[test]
fn doubts_are_warnings() {
    let source =
        "|x: Tensor<f32, _, 4>, y: Tensor<i64, _, 1>| mean(softmax_with_cross_entropy(softmax(fc(x, 3)), y))";
    let warnings = compile_all(source, &Options::new().file("net.rs")).unwrap().warnings;
    assert_eq!((warnings.len(), warnings[0].severity, warnings[0].id), (1, Severity::Warning, "meaning"));
    assert!(!warnings.has_errors() && warnings.to_string().starts_with("warning: "), "{warnings}");
}

/// Whatever is written is answered.
#[test]
fn deep_and_long_sources_are_answered() {
    let nested = |open: &str, close: &str| {
        format!("|x: Tensor<f32, _, 1>| {}x{}", open.repeat(100_000), close.repeat(100_000))
    };
    for source in [
        nested("(", ")"),
        nested("{", "}"),
        nested("-", ""),
        nested("tanh(", ")"),
        nested("[", "]"),
        "(".repeat(100_000),
    ] {
        assert!(compile::<()>(&source, &Options::new()).is_err());
    }
    // The deepest that is not refused.
    for depth in 1..120 {
        let source = format!("|x: Tensor<f32, _, 1>| {}x{}", "(-tanh(".repeat(depth), "))".repeat(depth));
        let _ = compile::<()>(&source, &Options::new());
    }
    let sum = format!("|x: Tensor<f32, _, 1>| {}x", "x + ".repeat(470));
    assert!(compile::<()>(&sum, &Options::new()).is_ok());
}

/// Sources are compiled on any number of threads at once.
#[test]
fn threads_compile_at_once() {
    std::thread::scope(|scope| {
        for size in 1..5 {
            scope.spawn(move || {
                let source = format!("|x: Tensor<f32, _, {size}>| fc(x, y)");
                let said = compile::<()>(&source, &Options::new().file(format!("{size}.rs"))).unwrap_err();
                assert!(said.to_string().contains(&format!("{size}.rs:1:30")), "{said}");
            });
        }
    });
}
