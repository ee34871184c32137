//! Switches for the passes of planning: what a pass does is found by planning without it.

use std::env;

use super::error::PlanError;
use super::numbers::Numbers;

/// The environment variable that switches passes off: `PADDLE_PASSES=-fuse,-arrange`.
pub(super) const VARIABLE: &str = "PADDLE_PASSES";

/// The passes that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passes {
    /// The [arrangement](super::arrange) of values in layouts.
    pub(super) arrange: bool,
    /// The [fusion](super::fuse) of element-wise operators.
    pub(super) fuse: bool,
    /// The [epilogues](super::schedule) of operators.
    pub(super) epilogue: bool,
    /// The [preparation](super::prepare) of what follows from parameters alone.
    pub(super) prepare: bool,
}

impl Passes {
    const ALL: Passes = Passes { arrange: true, fuse: true, epilogue: true, prepare: true };
    const NONE: Passes = Passes { arrange: false, fuse: false, epilogue: false, prepare: false };

    /// The passes that the environment leaves on; none where each operator's numbers are checked.
    pub(super) fn new(numbers: Numbers) -> Result<Passes, PlanError> {
        let passes = match env::var(VARIABLE) {
            Ok(switches) => Passes::parse(&switches)?,
            Err(_) => Passes::ALL,
        };
        Ok(if numbers == Numbers::Any { passes } else { Passes::NONE })
    }

    fn parse(switches: &str) -> Result<Passes, PlanError> {
        let mut passes = Passes::ALL;
        for switch in switches.split(',').map(str::trim).filter(|switch| !switch.is_empty()) {
            match switch {
                "-arrange" => passes.arrange = false,
                "-fuse" => passes.fuse = false,
                "-epilogue" => passes.epilogue = false,
                "-prepare" => passes.prepare = false,
                _ => return Err(PlanError::Switch { found: switch.to_string() }),
            }
        }
        Ok(passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_names_behind_a_minus() {
        assert_eq!(Passes::parse("").unwrap(), Passes::ALL);
        assert_eq!(Passes::parse(" -fuse ").unwrap(), Passes { fuse: false, ..Passes::ALL });
        assert_eq!(Passes::parse("-arrange,-epilogue, -fuse,-prepare,").unwrap(), Passes::NONE);
        for nonsense in ["fuse", "-fues", "-fuse;-arrange", "all"] {
            let error = Passes::parse(nonsense).unwrap_err();
            assert!(matches!(&error, PlanError::Switch { found } if found == nonsense), "{error:?}");
        }
    }
}
