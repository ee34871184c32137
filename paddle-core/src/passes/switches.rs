//! Switches for passes that save work: what a pass does is found by running without it.

use std::env;
use std::fmt;

/// The environment variable that switches passes off: `PADDLE_PASSES=-fuse,-arrange`.
const VARIABLE: &str = "PADDLE_PASSES";

macro_rules! switches {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// A pass that can be switched off. Results are the same without it, up to rounding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Switch {
            $($(#[$doc])* $variant,)*
        }

        impl Switch {
            /// All of them, in the order in which they run.
            pub const ALL: &[Switch] = &[$(Switch::$variant),*];

            /// The name of the pass.
            pub fn name(self) -> &'static str {
                match self {
                    $(Switch::$variant => $name,)*
                }
            }
        }
    };
}

switches! {
    /// [Combination](super::combine) of operators that compute something together.
    Combine "combine",
    /// [Composition](super::compose) of operators whose factors follow from parameters.
    Compose "compose",
    /// [Turning](super::turn) of matrices that products read as their transposes.
    Turn "turn",
    /// [Splitting](super::split) of products.
    Split "split",
    /// [Mapping](super::map) of what loops compute without state.
    Map "map",
    /// [Hoisting](super::hoist) out of loops.
    Hoist "hoist",
    /// [Sinking](super::sink) behind loops.
    Sink "sink",
    /// Preparation of what follows from parameters alone.
    Prepare "prepare",
    /// Arrangement of values in layouts.
    Arrange "arrange",
    /// Views of other values instead of copies.
    Views "views",
    /// Fusion of element-wise operators.
    Fuse "fuse",
    /// Epilogues of operators.
    Epilogue "epilogue",
    /// Updates in one launch.
    Updates "updates",
}

/// The passes that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// A bit for each pass.
    on: u32,
}

impl Switches {
    /// All passes.
    pub const ALL: Switches = Switches { on: !0 };
    /// No pass that can be switched off.
    pub const NONE: Switches = Switches { on: 0 };

    /// The passes that the environment leaves on.
    pub fn from_environment() -> Result<Switches, UnknownSwitch> {
        env::var(VARIABLE).map_or(Ok(Switches::ALL), |switches| Switches::parse(&switches))
    }

    /// Whether a pass is on.
    pub fn has(self, pass: Switch) -> bool {
        self.on & 1 << pass as u32 != 0
    }

    fn parse(switches: &str) -> Result<Switches, UnknownSwitch> {
        let mut passes = Switches::ALL;
        for switch in switches.split(',').map(str::trim).filter(|switch| !switch.is_empty()) {
            let named = switch.strip_prefix('-');
            let pass = named.and_then(|name| Switch::ALL.iter().find(|pass| pass.name() == name));
            let pass = pass.ok_or_else(|| UnknownSwitch { found: switch.to_string() })?;
            passes.on &= !(1 << *pass as u32);
        }
        Ok(passes)
    }
}

/// The environment switches off a pass that does not exist, or that is always on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSwitch {
    /// The switch.
    pub found: String,
}

impl fmt::Display for UnknownSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in {VARIABLE} is no switch; set it to some of ", self.found)?;
        for (i, pass) in Switch::ALL.iter().enumerate() {
            let between = if i == 0 { "" } else { ", " };
            write!(f, "{between}`-{}`", pass.name())?;
        }
        f.write_str(", with commas between them, or unset it")
    }
}

impl std::error::Error for UnknownSwitch {}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(switches: &str) -> Vec<&'static str> {
        let passes = Switches::parse(switches).unwrap();
        Switch::ALL.iter().filter(|pass| !passes.has(**pass)).map(|pass| pass.name()).collect()
    }

    #[test]
    fn switches_are_names_behind_a_minus() {
        assert_eq!(off(""), [""; 0]);
        assert_eq!(off(" -fuse "), ["fuse"]);
        assert_eq!(off("-arrange,-epilogue, -fuse,-hoist,"), ["hoist", "arrange", "fuse", "epilogue"]);
        let all: Vec<_> = Switch::ALL.iter().map(|pass| pass.name()).collect();
        assert_eq!(off(&all.iter().map(|name| format!("-{name}")).collect::<Vec<_>>().join(",")), all);
        for nonsense in ["fuse", "-fues", "-fuse;-arrange", "all", "-backward"] {
            let error = Switches::parse(nonsense).unwrap_err();
            assert_eq!(error, UnknownSwitch { found: nonsense.to_string() });
            assert!(error.to_string().contains("`-epilogue`"), "{error}");
        }
    }
}
