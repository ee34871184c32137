//! Programs as source: what is printed compiles, and to the same program.

mod corpus;
mod same;

use paddle_core::ops::Program;
use paddle_language::{Options, compile, decompile, networks_of};

/// The program of the source that is printed for a program.
fn again(name: &str, program: &Program) -> Result<(String, Program), String> {
    let text = decompile(program, name).map_err(|error| error.to_string())?;
    let mut options = Options::new();
    for symbol in program.symbols().iter().filter(|symbol| symbol.outside) {
        options = options.size(&symbol.name, 6);
    }
    let found = networks_of(&text, &options).map_err(|error| format!("{error}\n{text}"))?;
    let compiled = compile(&found[0].source, &options).and_then(|compiled| compiled.only());
    match compiled {
        Ok(compiled) => Ok((text, compiled.program)),
        Err(error) => Err(format!("{error}\n{text}")),
    }
}

#[test]
fn what_is_printed_is_the_same_program() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, program) in corpus::programs() {
        count += 1;
        match again("module", &program) {
            Ok((text, other)) => {
                if let Err(why) = same::same(&program, &other) {
                    wrong.push(format!("== {name}: {why}\n{text}\n{program}"));
                }
            }
            Err(error) => wrong.push(format!("== {name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
