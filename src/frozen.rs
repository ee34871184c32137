//! The parameters that a call leaves as they are.

use paddle_core::ops::Program;

use crate::parameter_name::ParameterGroup;
use crate::parameters::ParameterError;

/// Groups of parameters, and patterns of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frozen {
    groups: Vec<ParameterGroup>,
    patterns: Vec<String>,
}

impl Frozen {
    pub(crate) fn add(&mut self, group: ParameterGroup) {
        self.groups.push(group);
    }

    pub(crate) fn add_pattern(&mut self, pattern: String) {
        self.patterns.push(pattern);
    }

    /// Whether the parameter of this name is frozen.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.groups.iter().any(|group| group.contains(name))
            || self.patterns.iter().any(|pattern| matches(pattern, name))
    }

    /// Errors if a pattern fits no parameter of the network: it may be misspelt.
    pub(crate) fn check(&self, program: &Program) -> Result<(), ParameterError> {
        let is_used = |pattern: &&String| {
            program.parameters().any(|parameter| matches(pattern, &program.var(parameter).name))
        };
        match self.patterns.iter().find(|pattern| !is_used(pattern)) {
            Some(pattern) => Err(ParameterError::NoSuch { name: pattern.clone() }),
            None => Ok(()),
        }
    }
}

/// Whether a name fits a pattern, in which `*` stands for any characters, or none.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or("");
    // The first place that fits leaves the most for what follows.
    for part in parts {
        let Some((_, behind)) = left.split_once(part) else { return false };
        left = behind;
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, name) in [
            ("conv.w", "conv.w"),
            ("conv*", "conv.w"),
            ("*", ""),
            ("*.w", "a.b.w"),
            ("res*.conv*.w", "res2.block.conv1.w"),
            ("a*b*b", "abxb"),
            ("**w", "w"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("conv", "conv.w"),
            ("conv*", "my.conv"),
            ("*.w", "a.b"),
            ("a*a", "a"),
            ("a*b*b", "ab"),
            ("", "w"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
