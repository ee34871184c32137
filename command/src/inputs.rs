//! The inputs of a run: arrays and pictures in files, by the names of the inputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use paddle::network::Variable;
use paddle::{Batch, Dynamic, Network};

use crate::array::{Array, of_npz};
use crate::failure::Failure;
use crate::picture::{self, Scaling};

/// Where the inputs of a run are.
#[derive(Args)]
pub(crate) struct Inputs {
    /// The value of an input: `x=x.npy`; `x=all.npz:first`, an array of such a file, or the one called `x` without a name;
    /// `image=cat.png`, a picture, scaled to the input's size. Pictures of one input are its rows, in their order.
    /// `all.npz` alone has an array for each input, by its name.
    #[arg(long = "input", short, value_name = "[NAME=]FILE")]
    inputs: Vec<String>,
    /// How many tokens each sequence of an input has: `words=lengths.npy`. The array of the input has all tokens, one
    /// sequence behind the other. For sequences of sequences say it twice: first how many sequences each row has. In a
    /// `.npz` the lengths may be an array `words.lengths`, or `words.lengths.0` and `words.lengths.1`.
    #[arg(long, value_name = "NAME=FILE")]
    lengths: Vec<String>,
    #[command(flatten)]
    scaling: Scaling,
}

/// What has been read for one input.
#[derive(Default)]
struct Given {
    arrays: Vec<Array>,
    lengths: Vec<Vec<usize>>,
}

/// What stands behind the name of an array of lengths.
const LENGTHS: &str = ".lengths";

/// The name under which lengths of a level of `levels` are in a `.npz`.
pub(crate) fn lengths_name(of: &str, level: usize, levels: usize) -> String {
    if levels == 1 { format!("{of}{LENGTHS}") } else { format!("{of}{LENGTHS}.{level}") }
}

impl Inputs {
    /// Reads the batch that these inputs are for a network.
    pub(crate) fn batch(&self, net: &Network<Dynamic>) -> Result<Batch<Dynamic>, Failure> {
        let mut given: BTreeMap<String, Given> = BTreeMap::new();
        for text in &self.inputs {
            match text.split_once('=') {
                Some((name, file)) => {
                    let array = self.array(net, name, file)?;
                    given.entry(name.to_string()).or_default().arrays.push(array);
                }
                None => whole(net, Path::new(text), &mut given)?,
            }
        }
        for text in &self.lengths {
            let Some((name, file)) = text.split_once('=') else {
                return Err(Failure::Asked(format!("`--lengths {text}`: expected NAME=FILE")));
            };
            let (path, array) = of_file(file, &format!("{name}{LENGTHS}"))?;
            given.entry(name.to_string()).or_default().lengths.push(lengths(&path, &array)?);
        }
        let mut batch = Batch::new(net)?;
        for (name, Given { arrays, lengths }) in given {
            let Some(array) = Array::concatenate(&arrays.iter().collect::<Vec<_>>()) else {
                return Err(Failure::Asked(match arrays.len() {
                    0 => {
                        format!("input `{name}` has lengths, but no tokens; give them, `--input {name}=FILE`")
                    }
                    _ => {
                        let shown: Vec<String> = arrays.iter().map(Array::shown).collect();
                        format!("the files of input `{name}` are no rows of one batch: {}", shown.join(", "))
                    }
                }));
            };
            let levels: Vec<Vec<usize>> = lengths.iter().map(|lengths| offsets(lengths)).collect();
            array.feed(&mut batch, &name, &levels)?;
        }
        batch.rows()?;
        Ok(batch)
    }

    /// The array of a file for one input.
    fn array(&self, net: &Network<Dynamic>, name: &str, file: &str) -> Result<Array, Failure> {
        if !picture::is_picture(Path::new(file)) {
            return Ok(of_file(file, name)?.1);
        }
        let inputs = net.inputs()?;
        match inputs.iter().find(|input| input.name == name) {
            Some(input) => self.scaling.read(Path::new(file), input),
            None => {
                let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
                let names = names.join("`, `");
                Err(Failure::Asked(format!("the network has no input `{name}`; its inputs are `{names}`")))
            }
        }
    }
}

/// Reads a `.npz` with all inputs.
fn whole(net: &Network<Dynamic>, path: &Path, given: &mut BTreeMap<String, Given>) -> Result<(), Failure> {
    if !is_npz(path) {
        let why = "without the name of an input only a .npz can be taken; write NAME=FILE";
        return Err(Failure::of(path, why));
    }
    let mut arrays = of_npz(path)?;
    let level = |input: &Variable, level| lengths_name(&input.name, level, input.levels);
    for input in net.inputs()? {
        let Some(array) = arrays.remove(&input.name) else { continue };
        let of_input = given.entry(input.name.clone()).or_default();
        of_input.arrays.push(array);
        for name in (0..input.levels).map(|at| level(input, at)) {
            if let Some(array) = arrays.remove(&name) {
                let found = lengths(path, &array);
                of_input.lengths.push(found.map_err(|_| not_lengths(path, &name, &array))?);
            }
        }
    }
    match arrays.keys().next() {
        Some(name) => {
            let inputs: Vec<&str> = net.inputs()?.iter().map(|input| input.name.as_str()).collect();
            let why = format!("array `{name}` is no input; the inputs are `{}`", inputs.join("`, `"));
            Err(Failure::of(path, why))
        }
        None => Ok(()),
    }
}

/// Reads `x.npy`, `all.npz:x`, or `all.npz`, of which it takes the array called `name`.
fn of_file(file: &str, name: &str) -> Result<(PathBuf, Array), Failure> {
    // A path may have colons of its own.
    let (path, array) = match file.rsplit_once(':') {
        Some((path, array)) if is_npz(Path::new(path)) => (Path::new(path), Some(array)),
        _ => (Path::new(file), None),
    };
    if !is_npz(path) {
        return Ok((path.to_path_buf(), Array::of_npy(path)?));
    }
    let (mut arrays, name) = (of_npz(path)?, array.unwrap_or(name));
    match arrays.remove(name) {
        Some(array) => Ok((path.to_path_buf(), array)),
        None => {
            let names: Vec<&str> = arrays.keys().map(String::as_str).collect();
            let why = format!("there is no array `{name}`; its arrays are `{}`", names.join("`, `"));
            Err(Failure::of(path, why))
        }
    }
}

fn is_npz(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npz")
}

fn lengths(path: &Path, array: &Array) -> Result<Vec<usize>, Failure> {
    array.lengths().ok_or_else(|| not_lengths(path, "", array))
}

fn not_lengths(path: &Path, name: &str, array: &Array) -> Failure {
    let name = if name.is_empty() { String::new() } else { format!("array `{name}`: ") };
    let why = format!("{name}found {}, expected lengths: i64[_] or i32[_], none negative", array.shown());
    Failure::of(path, why)
}

/// Where each sequence begins, and where the last one ends.
pub(crate) fn offsets(lengths: &[usize]) -> Vec<usize> {
    let ends = lengths.iter().scan(0usize, |end, &length| {
        *end = end.saturating_add(length);
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}
