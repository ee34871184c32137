//! `paddle completions`: what shells complete.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::failure::{Failure, Verdict};

/// Prints what a shell completes arguments with.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  paddle completions bash > ~/.local/share/bash-completion/completions/paddle
  paddle completions fish > ~/.config/fish/completions/paddle.fish
  paddle completions zsh > ~/.zfunc/_paddle      # with `fpath+=~/.zfunc` before `compinit`";

impl Completions {
    pub(crate) fn run(&self, command: &mut Command, out: &mut dyn Write) -> Result<Verdict, Failure> {
        // In memory first: the generator takes no errors in writing.
        let mut text = Vec::new();
        generate(self.shell, command, "paddle", &mut text);
        out.write_all(&text)?;
        Ok(Verdict::Fine)
    }
}
