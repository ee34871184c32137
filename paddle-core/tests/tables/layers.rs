//! `LAYERS.md`: the layers, and `layers.md` of the macros: their names, for the documentation of `network!`.

use paddle_core::layers::{Argument, Build, Kind, LIBRARY, Layer, LeftOut, LibraryLayer};
use paddle_core::ops::{Attribute, Number, Op};

use crate::{is_as_written, line};

const HEAD: &str = "\
# Layers

Written by `UPDATE_GOLDEN=1 cargo test -p paddle-core --test tables` from the tables of the layers, `paddle-core/src/layers/`. How
they are called, and how parameters are named, is in [LANGUAGE.md].

Arguments are given by position; those with `=` by name, behind the others and in any order, or not at all: then they are what stands
behind the `=`, if that is not `…`. Axes are counted with that of the rows, `_`, as 0, and from the end if they are negative.

Layers with parameters take more arguments by name: `param`, `init`, `lr`, `decay`, `clip`, and, where there is a bias, `bias_init`.
In place of a parameter `w`, `b`, `scale` or `shift` they take a value of its shape, by its name: `fc(x, 16, w = 0.5 * (a + b))`. Not so
`embedding`, as `gather(w, ids)` does that.

[LANGUAGE.md]: LANGUAGE.md
";

/// What an argument takes, for those who write it.
fn kind(kind: Kind) -> String {
    let words = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Value => String::new(),
        Kind::Values => "values".into(),
        Kind::Operands => "values, one behind the other".into(),
        Kind::Whole => "value of whole numbers".into(),
        Kind::Size => "size".into(),
        Kind::Sizes | Kind::SizesIfAny => "size or sizes".into(),
        Kind::Shape => "sizes, -1 for what is left".into(),
        Kind::Int => "whole number".into(),
        Kind::Ints => "whole number or several".into(),
        Kind::IntsOr(others) => format!("whole number or several, or {}", words(others)),
        Kind::Number => "number".into(),
        Kind::Flag => "`true` or `false`".into(),
        Kind::Choice(choice) => words(choice),
        Kind::Name | Kind::Text => "text".into(),
        Kind::Activation => "activation".into(),
        Kind::Initializer => "initialiser".into(),
    }
}

fn argument(argument: &Argument) -> String {
    let kind = kind(argument.kind);
    let kind = if kind.is_empty() { kind } else { format!(" ({kind})") };
    let doc = line(argument.doc);
    let doc = if doc.is_empty() { doc } else { format!(": {doc}") };
    format!("  - `{}`{kind}{doc}\n", argument.name)
}

/// Those that all layers with parameters have are explained once.
fn own_arguments(layer: &Layer) -> impl Iterator<Item = &Argument> {
    let shared = ["param", "init", "lr", "decay", "clip", "bias_init", "w", "b", "scale", "shift"];
    layer.named.iter().filter(move |argument| !layer.has_parameters() || !shared.contains(&argument.name))
}

fn layer(layer: &Layer) -> String {
    let positional = layer.positional.iter().map(|argument| argument.name.to_string());
    let default = |argument: &Argument| argument.default.map_or("…".to_string(), |value| value.to_string());
    let named = own_arguments(layer).map(|argument| format!("{} = {}", argument.name, default(argument)));
    let arguments: Vec<String> = positional.chain(named).collect();
    let mut marks = Vec::new();
    marks.extend(layer.activation.then_some("an activation"));
    marks.extend(layer.has_parameters().then_some("has parameters"));
    marks.extend(matches!(layer.build, Build::Several(_)).then_some("several values"));
    let marks = if marks.is_empty() { String::new() } else { format!(" *({})*", marks.join(", ")) };
    // Of a function of one value there is nothing to say.
    let is_plain = arguments.len() == 1;
    let arguments_of = layer.positional.iter().chain(own_arguments(layer)).filter(|_| !is_plain);
    let lines: String = arguments_of.map(argument).collect();
    format!("- `{}({})`{marks}: {}\n{lines}", layer.name, arguments.join(", "), line(layer.doc))
}

/// A layer that is written in the language: its own source says what it is.
fn library(layer: &LibraryLayer) -> String {
    let code: Vec<&str> = layer.source.lines().skip_while(|line| line.starts_with("///")).collect();
    let end = code.iter().position(|line| line.ends_with('{')).expect("the file is a function");
    let docs = layer.source.lines().map_while(|line| line.strip_prefix("///"));
    // An argument may take several lines; all but the first are indented.
    let is_argument = |doc: &&str| doc.starts_with(" * ") || doc.starts_with("   ");
    let (arguments, docs): (Vec<&str>, Vec<&str>) =
        docs.skip_while(|doc| doc.trim().is_empty()).partition(is_argument);
    let arguments = line(&arguments.join(" ")).replace(" * ", "\n  - ").replacen("* ", "  - ", 1);
    let arguments = if arguments.is_empty() { arguments } else { arguments + "\n" };
    let signature = line(&code[..=end].join(" "));
    let (name, parameters) = signature.trim_start_matches("pub fn ").split_once('(').expect("a function");
    let (parameters, _) = parameters.split_once(") ->").expect("a function");
    let mut depth = 0;
    let parameters = parameters.split(|letter| {
        depth += i32::from(letter == '<') - i32::from(letter == '>');
        letter == ',' && depth == 0
    });
    let parameters = parameters.map(str::trim).filter(|parameter| !parameter.is_empty());
    // Types and defaults are Rust's; here they are shown as calls are written.
    let parameter = |parameter: &str| {
        let (before, _) = parameter.split_once(": ").expect("a parameter has a type");
        match before.strip_prefix("#[default = ").and_then(|rest| rest.split_once("] ")) {
            Some((default, name)) => format!("{name} = {default}"),
            None => before.to_string(),
        }
    };
    let signature = format!("{name}({})", parameters.map(parameter).collect::<Vec<_>>().join(", "));
    format!("- `{signature}`: {}\n{arguments}", line(&docs.join(" ")))
}

/// What a family is called.
fn title(family: &str) -> String {
    let (first, rest) = family.split_at(1);
    format!("{}{}", first.to_uppercase(), rest.replace('_', " "))
}

const WRITTEN: &str = "Written in the language";

#[test]
fn the_table_lists_the_layers() {
    let mut text = HEAD.to_string();
    for (family, layers) in Layer::families() {
        text += &format!("\n## {}\n\n", title(family));
        text.extend(layers.iter().map(layer));
    }
    text += &format!("\n## {WRITTEN}\n\n");
    text.extend(LIBRARY.iter().map(library));
    is_as_written("LAYERS.md", &text);
}

/// What the text of an argument says of a call that leaves it out.
fn said(text: &str) -> Option<&str> {
    let (before, _) = text.split_once(" if it is left out").or(text.split_once(" if this is left out"))?;
    Some(before.rsplit("; ").next().unwrap_or(before))
}

/// A default is in the table, from where it comes to calls and to what is shown of them.
#[test]
fn no_text_says_a_default() {
    for layer in Layer::all() {
        for argument in layer.positional.iter().chain(layer.named) {
            let Some(said) = said(argument.doc) else { continue };
            let is_word = match argument.kind {
                Kind::Choice(words) | Kind::IntsOr(words) => words.contains(&said),
                Kind::Flag => true,
                _ => said.parse::<f64>().is_ok(),
            };
            let of = format!("`{}` of `{}`", argument.name, layer.name);
            assert!(argument.default.is_none() && !is_word, "{of}: \"{said}\" belongs behind its kind");
        }
    }
    for layer in LIBRARY {
        let docs = layer.source.lines().filter(|line| line.starts_with("///"));
        docs.for_each(|doc| assert_eq!(said(doc), None, "`{}`: `#[default = ..]` says it", layer.name));
    }
}

/// Whether a call that leaves an argument out, and an operator that is read without the attribute, have the same.
fn is_same(argument: LeftOut, attribute: &Attribute) -> bool {
    match (argument, attribute) {
        (LeftOut::Flag(flag), Attribute::Number(Number::Bool(truth))) => flag == *truth,
        (LeftOut::Int(int), Attribute::Number(number)) => number.as_i64() == Some(int),
        (LeftOut::Int(int), Attribute::Ints(ints)) => ints.iter().all(|other| *other == int),
        (LeftOut::Number(number), Attribute::Number(other)) => other.as_f64() == number,
        (LeftOut::Word(word), Attribute::Text(text)) => text == word,
        _ => false,
    }
}

#[test]
fn layers_have_the_defaults_of_their_operators() {
    let mut compared = 0;
    for op in Op::prototypes() {
        let attributes = op.attributes();
        let of_argument = |argument: &&Argument| argument.default.is_some();
        for argument in Layer::find(op.name()).iter().flat_map(|layer| layer.named).filter(of_argument) {
            // `strides` are the `stride` of a layer.
            let is_it = |name: &str| name == argument.name || name.strip_suffix('s') == Some(argument.name);
            let Some((of, attribute)) = attributes.iter().find(|(name, _)| is_it(name)) else { continue };
            let others = attributes.iter().filter(|(name, _)| name != of);
            let others = others.map(|(name, value)| (name.to_string(), value.clone())).collect();
            // What has to be given has no default.
            if op.with_attributes(others).is_ok() {
                let same = argument.default.is_some_and(|default| is_same(default, attribute));
                assert!(
                    same,
                    "`{}` of `{}`: {:?}, {attribute:?}",
                    argument.name,
                    op.name(),
                    argument.default
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "only {compared} attributes are those of layers");
}

#[test]
fn the_documentation_of_the_macro_names_the_layers() {
    let row = |family: &str, names: &mut dyn Iterator<Item = &str>| {
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        format!("| {family} | {} |\n", names.join(", "))
    };
    let mut text = "| family | layers |\n| --- | --- |\n".to_string();
    for (family, layers) in Layer::families() {
        text += &row(&title(family), &mut layers.iter().map(|layer| layer.name));
    }
    text += &row(WRITTEN, &mut LIBRARY.iter().map(|layer| layer.name));
    is_as_written("paddle-macros/src/layers.md", &text);
}
