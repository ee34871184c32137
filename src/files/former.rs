//! The names of parameters in files of before. What stands in the arguments of a layer was once named by its binding: in
//! `let h = fc(fc(x, 8), 8)` the layer in the argument was `h`, and the outer one `h_1`.

use std::collections::BTreeMap;

use super::safetensors::TensorFile;

/// The names that parameters have in a file.
pub(crate) struct Names<'a> {
    /// By the name of the parameter, where that of the file is another.
    former: BTreeMap<&'a str, &'a str>,
}

impl<'a> Names<'a> {
    /// `former` has the former names of parameters.
    ///
    /// One name may be the former one of another: `h` is now `h_fc`, `h_1` is now `h`. The name of the last such parameter is
    /// not in a file of before; only if all of them are there by their former names, these are meant.
    pub(crate) fn of(former: &'a BTreeMap<String, String>, file: &TensorFile) -> Self {
        let names = file.names();
        let taken: BTreeMap<&str, &str> = former.iter().map(|(name, former)| (&**former, &**name)).collect();
        let mut found = BTreeMap::new();
        for last in former.keys().filter(|name| !taken.contains_key(&***name) && !names.contains(*name)) {
            let next = |name: &&String| former.get_key_value(&former[*name]).map(|(name, _)| name);
            let all: Vec<&String> = std::iter::successors(Some(last), next).take(former.len()).collect();
            if all.iter().all(|name| names.contains(&former[*name])) {
                found.extend(all.into_iter().map(|name| (&**name, &*former[name])));
            }
        }
        Names { former: found }
    }

    /// The name in the file.
    pub(crate) fn in_file<'b>(&'b self, parameter: &'b str) -> &'b str {
        self.former.get(parameter).copied().unwrap_or(parameter)
    }

    /// The name of the parameter.
    pub(crate) fn of_parameter(&self, in_file: &str) -> String {
        let parameter = self.former.iter().find(|(_, former)| **former == in_file);
        parameter.map_or(in_file, |(name, _)| name).to_string()
    }
}
