//! Programs as source, and what that is compiled to.

use paddle::core::ops::Program;
use paddle::core::program::DType;
use paddle::language::{NotWritable, Options, compile_all, decompile, networks_of};
use paddle::{Dynamic, Element, Network, Parameters};

/// The program of a source, or why there is none: errors, and warnings too.
pub(crate) fn compiled(source: &str) -> Result<Program, String> {
    let found = networks_of(source, &Options::new()).map_err(|error| error.to_string())?;
    let [module] = &found[..] else { return Err(format!("{} modules", found.len())) };
    let compiled = compile_all(&module.source, &Options::new()).map_err(|error| error.to_string())?;
    if !compiled.warnings.is_empty() {
        return Err(compiled.warnings.to_string());
    }
    Ok(compiled.only().map_err(|error| error.to_string())?.program)
}

/// A network that was written as source and compiled again.
pub(crate) struct Again {
    pub(crate) source: String,
    pub(crate) net: Network<Dynamic>,
    pub(crate) parameters: Parameters,
    /// The names of inputs in the model and in the source.
    inputs: Vec<[String; 2]>,
}

impl Again {
    /// Compiles the source of a network again, with the same parameters. What is not right with it is an error within; what it cannot
    /// say is one outside.
    pub(crate) fn of(
        net: &Network<Dynamic>,
        parameters: &Parameters,
    ) -> Result<Result<Again, String>, NotWritable> {
        let program = net.program().expect("it was loaded");
        let source = decompile(program, "again")?;
        let why = |error: String| format!("{error}\n{source}");
        Ok(Again::compiled(program, parameters, source.clone()).map_err(why))
    }

    fn compiled(program: &Program, parameters: &Parameters, source: String) -> Result<Again, String> {
        let again = compiled(&source)?;
        let names = |program: &Program| -> Vec<String> {
            program.inputs().iter().map(|input| program.var(*input).name.clone()).collect()
        };
        let inputs = names(program).into_iter().zip(names(&again)).map(|(one, other)| [one, other]).collect();
        let net = Network::from_program(again).map_err(|error| error.to_string())?;
        let mut mine = Parameters::create(&net).map_err(|error| error.to_string())?;
        let names: Vec<(String, DType)> =
            mine.iter().map(|stored| (stored.name.clone(), stored.dtype)).collect();
        for (name, dtype) in names {
            match dtype {
                DType::Bool => copy::<bool>(parameters, &mut mine, &name)?,
                DType::I32 => copy::<i32>(parameters, &mut mine, &name)?,
                DType::I64 => copy::<i64>(parameters, &mut mine, &name)?,
                DType::F32 => copy::<f32>(parameters, &mut mine, &name)?,
                DType::F64 => copy::<f64>(parameters, &mut mine, &name)?,
            }
        }
        Ok(Again { source, net, parameters: mine, inputs })
    }

    /// The name of an input in the source.
    pub(crate) fn input<'a>(&'a self, name: &'a str) -> &'a str {
        self.inputs.iter().find(|[of_model, _]| of_model == name).map_or(name, |[_, name]| name)
    }
}

fn copy<T: Element>(from: &Parameters, to: &mut Parameters, name: &str) -> Result<(), String> {
    let values = from.get::<T>(name).map_err(|error| error.to_string())?;
    to.set(name, &values).map_err(|error| error.to_string())
}
