//! `LAYERS.md`: the layers, and `layers.md` of the macros: their names, for the documentation of `network!`.

use paddle_core::layers::{Argument, Build, Kind, LIBRARY, Layer, LibraryLayer};

use crate::{is_as_written, line};

const HEAD: &str = "\
# Layers

Written by `UPDATE_GOLDEN=1 cargo test -p paddle-core --test tables` from the tables of the layers, `paddle-core/src/layers/`. How
they are called, and how parameters are named, is in [LANGUAGE.md].

Arguments are given by position; those with `=` by name, behind the others and in any order, or not at all. Axes are counted with that of
the rows, `_`, as 0, and from the end if they are negative.

Layers with parameters take more arguments by name: `param`, `init`, `lr`, `decay`, `clip`, and, where there is a bias, `bias_init`.

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
    format!("  - `{}`{kind}: {}\n", argument.name, line(argument.doc))
}

/// Those that all layers with parameters have are explained once.
fn own_arguments(layer: &Layer) -> impl Iterator<Item = &Argument> {
    let shared = ["param", "init", "lr", "decay", "clip", "bias_init"];
    layer.named.iter().filter(move |argument| !layer.has_parameters() || !shared.contains(&argument.name))
}

fn layer(layer: &Layer) -> String {
    let positional = layer.positional.iter().map(|argument| argument.name.to_string());
    let named = own_arguments(layer).map(|argument| format!("{} = …", argument.name));
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
