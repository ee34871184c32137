//! `paddle completions`, and the help.

use crate::support::{done, failed, paddle};

#[test]
fn shells() {
    for (shell, expected) in
        [("bash", "complete -F _paddle"), ("zsh", "#compdef paddle"), ("fish", "complete -c paddle")]
    {
        let script = done(format!("completions {shell}"));
        assert!(script.contains(expected) && script.contains("program-only"), "{script}");
    }
    assert!(failed("completions basic").contains("[possible values: bash, elvish, fish, powershell, zsh]"));
}

/// Each command is told about, with examples.
#[test]
fn help() {
    let help = done("--help");
    assert!(help.contains("Exit codes:\n  0  done;"), "{help}");
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 7 && names.contains(&"show"), "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let help = done(format!("{name} --help"));
        assert!(
            help.contains("\nExamples:\n  paddle ") && help.contains(&format!("paddle {name}")),
            "{help}"
        );
    }
    assert_eq!(paddle("").code, 2);
    assert!(failed("shw").contains("a similar subcommand exists: 'show'"));
    assert!(done("--version").starts_with("paddle "));
}
