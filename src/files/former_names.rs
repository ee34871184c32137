//! Former names of parameters, as older files have them. A layer in the arguments of another one was once named by the
//! binding: in `let h = fc(fc(x, 8), 8)` the inner layer was `h` and the outer one `h_1`.

use std::collections::BTreeMap;

use super::safetensors::TensorFile;

/// The names of the parameters in a file.
pub(crate) struct Names<'a> {
    /// For each parameter that has another name in the file, that name.
    former: BTreeMap<&'a str, &'a str>,
}

impl<'a> Names<'a> {
    /// The names in `file`. `former` has the former names of parameters.
    ///
    /// The present name of one parameter may be the former name of another: `h` is now `h_fc`, and `h_1` is now `h`. Such
    /// names form a chain, from the present `h_fc` to the former `h_1`. The former names of a chain are used only if the
    /// file has all of them and lacks the present name at the start.
    pub(crate) fn of(former: &'a BTreeMap<String, String>, file: &TensorFile) -> Self {
        let taken: BTreeMap<&str, &str> = former.iter().map(|(name, former)| (&**former, &**name)).collect();
        let mut found = BTreeMap::new();
        for last in former.keys().filter(|name| !taken.contains_key(&***name) && !file.has(name)) {
            let next = |name: &&String| former.get_key_value(&former[*name]).map(|(name, _)| name);
            let all: Vec<&String> = std::iter::successors(Some(last), next).take(former.len()).collect();
            if all.iter().all(|name| file.has(&former[*name])) {
                found.extend(all.into_iter().map(|name| (&**name, &*former[name])));
            }
        }
        Names { former: found }
    }

    /// The name of a parameter in the file.
    pub(crate) fn in_file<'b>(&'b self, parameter: &'b str) -> &'b str {
        self.former.get(parameter).copied().unwrap_or(parameter)
    }

    /// The parameter with this name in the file.
    pub(crate) fn of_parameter(&self, in_file: &str) -> String {
        let parameter = self.former.iter().find(|(_, former)| **former == in_file);
        parameter.map_or(in_file, |(name, _)| name).to_string()
    }
}
