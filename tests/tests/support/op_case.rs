//! Programs that the real PaddlePaddle ran, with what it was fed and what it gave: files of `oracle/operator_cases.py`.

use std::collections::BTreeSet;
use std::path::Path;

use paddle::core::wire::ProgramDesc;

use super::cut::Arrays;
use super::npz;
use super::tensor::{Tensor, Values};

/// A program and what it computed.
pub(crate) struct OpCase {
    pub(crate) desc: ProgramDesc,
    pub(crate) arrays: Arrays,
}

impl OpCase {
    pub(crate) fn read(folder: &Path, name: &str) -> OpCase {
        let bytes = std::fs::read(folder.join(format!("{name}.pdprogram"))).expect("a program");
        let desc = ProgramDesc::decode(&bytes).expect("it is a program");
        OpCase { desc, arrays: npz::read(&folder.join(format!("{name}.npz"))) }
    }

    /// The arrays of this kind, by the names of their variables.
    pub(crate) fn arrays(&self, kind: &str) -> Arrays {
        let mine = self.arrays.iter().filter_map(|(key, array)| Some((key.strip_prefix(kind)?, array)));
        let with_offsets = |(name, array): (&str, &Tensor)| {
            let levels = (0..).map_while(|level| self.arrays.get(&format!("lod|{level}|{name}")));
            let array = levels.fold(array.clone(), |array, offsets| match &offsets.values {
                Values::I64(offsets) => array.with_offsets(offsets),
                other => panic!("offsets of `{name}` are {other:?}"),
            });
            (name.to_string(), array)
        };
        mine.map(with_offsets).collect()
    }
}

/// The names of the cases in a folder.
pub(crate) fn cases_of(folder: &Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let programs = files.filter(|path| path.extension().is_some_and(|extension| extension == "pdprogram"));
    programs.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}
