//! What rustc says of sources that use this crate: as data, which is the same on every release, where what it prints is not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// What users depend on.
pub(crate) const PACKAGE: &str = "paddle-rs";

const TESTS: &str = env!("CARGO_MANIFEST_DIR");

/// An error or a warning.
#[derive(Clone, Debug)]
pub(crate) struct Diagnostic {
    /// `E0308`, or the name of a lint. The errors of macros have none.
    pub(crate) code: Option<String>,
    /// All its words: the message, and those of its labels, notes and hints.
    pub(crate) text: String,
    /// Line and column, from 1, of what it is about.
    pub(crate) place: (usize, usize),
}

/// The release of the compiler that runs the tests, without its patch: `1.95`, or `1.97-nightly`.
pub(crate) fn release() -> String {
    let release = version("release: ");
    let (number, channel) = release.split_once('-').unwrap_or((&release, ""));
    let number: Vec<&str> = number.split('.').take(2).collect();
    let channel = channel.split('.').next().filter(|name| !name.is_empty());
    channel.into_iter().fold(number.join("."), |number, channel| format!("{number}-{channel}"))
}

fn version(line: &str) -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = Command::new(rustc).arg("-vV").output().expect("rustc says its version").stdout;
    let printed = String::from_utf8(printed).expect("a version is text");
    printed.lines().find_map(|it| it.strip_prefix(line)).expect("a version has its lines").to_string()
}

/// The folder of trybuild: the two build the dependencies once, as they have the same flags.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tests").join("trybuild")
}

/// Where a package of this name is made.
pub(crate) fn package_folder(name: &str) -> PathBuf {
    target().join("other packages").join(name)
}

/// Runs cargo in a package that depends on this one, in a folder below the target folder, whose name has a space in it.
/// `rest` is what its manifest says behind the dependencies, `args` begin with the command.
pub(crate) fn cargo(name: &str, rest: &str, args: &[&str]) -> Output {
    let (target, package) = (target(), package_folder(name));
    let (root, models) =
        (Path::new(TESTS).parent().expect("a folder of the project"), Path::new(TESTS).join("crates/models"));
    // These and their features are what the tests' own manifest asks for, and so trybuild: others would build everything once more.
    let manifest = format!(
        "[workspace]\n[package]\nname = \"{name}\"\nedition = \"2024\"\npublish = false\nautobins = false\n\
         [dependencies]\nbytes = \"1\"\nserde = {{ version = \"1\", features = [\"derive\"] }}\n\
         {PACKAGE} = {{ path = {root:?}, features = [\"cluster\", \"include\", \"language\"] }}\n\
         models = {{ path = {models:?} }}\n{rest}"
    );
    // Not copied: the copy of a file that cannot be written could not be written the next time.
    let lock = std::fs::read(root.join("Cargo.lock")).expect("the project has a lock file");
    std::fs::create_dir_all(&package).expect("the target folder is writable");
    std::fs::write(package.join("Cargo.toml"), manifest).expect("the folder is writable");
    std::fs::write(package.join("Cargo.lock"), lock).expect("the folder is writable");
    let flags = r#"["--cfg", "trybuild", "--verbose", "-A", "dead_code"]"#;
    let host = version("host: ");
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(&package)
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS")
        .arg("--offline")
        .arg(format!("--config=build.rustflags={flags}"))
        .arg(format!("--config=target.{host}.rustflags={flags}"))
        .args(args)
        .args(["--target", &host])
        .output()
        .expect("cargo runs")
}

/// What rustc says of each source when it builds it as a program.
pub(crate) fn diagnostics(sources: &[PathBuf]) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
    let bins = sources.iter().enumerate();
    let bins: String =
        bins.map(|(at, source)| format!("[[bin]]\nname = \"case{at}\"\npath = {source:?}\n")).collect();
    let args = ["build", "--quiet", "--bins", "--keep-going", "--message-format=json"];
    let cargo = cargo("cases", &bins, &args);
    let mut found: BTreeMap<_, _> = sources.iter().map(|source| (source.clone(), Vec::new())).collect();
    let messages: Vec<Value> = cargo
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let built = messages.iter().filter(|message| message["reason"] != "build-finished").count();
    assert!(built > 0, "nothing was built: {}", String::from_utf8_lossy(&cargo.stderr));
    for message in &messages {
        let source = message["target"]["src_path"].as_str().map(PathBuf::from);
        let Some(diagnostics) = source.and_then(|source| found.get_mut(&source)) else {
            assert_ne!(message["message"]["level"], "error", "{}", message["message"]["rendered"]);
            continue;
        };
        diagnostics.extend(diagnostic(&message["message"], message["target"]["src_path"].as_str()));
    }
    found
}

/// `None` of what is no error or warning, or has no place: that errors were found, and how to learn more.
fn diagnostic(message: &Value, source: Option<&str>) -> Option<Diagnostic> {
    message["level"].as_str().filter(|level| ["error", "warning"].contains(level))?;
    let spans = message["spans"].as_array()?;
    let mut span = spans.iter().find(|span| span["is_primary"] == true)?;
    // What is inside of a macro of another crate is about the call of the macro.
    while span["file_name"].as_str() != source && !span["expansion"].is_null() {
        span = &span["expansion"]["span"];
    }
    let number = |name: &str| span[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let code = message["code"]["code"].as_str().map(str::to_string);
    let mut text = String::new();
    words(message, &mut text);
    // As if the project were the working folder.
    let text = text.replace(&format!("{}/", TESTS), "");
    Some(Diagnostic { code, text, place: (number("line_start")?, number("column_start")?) })
}

fn words(message: &Value, text: &mut String) {
    let spans = message["spans"].as_array().into_iter().flatten();
    let labels = spans.filter_map(|span| span["label"].as_str());
    for part in message["message"].as_str().into_iter().chain(labels) {
        *text += part;
        text.push('\n');
    }
    message["children"].as_array().into_iter().flatten().for_each(|child| words(child, text));
}
