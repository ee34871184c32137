//! The syntax tree of a network's source. It can express the language, and nothing else of Rust. Every node keeps its
//! tokens.

mod editor_type;
mod expr;
mod item;
mod size;
mod ty;
mod walk;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;

use crate::configure::ConfiguredOut;
use crate::files::Files;

pub use editor_type::{Shown, ShownDim};
pub use expr::{
    Arm, Block, Call, Case, CaseKind, Choice, Closure, Expr, ExprKind, Infix, Meaning, Method, Named, Piece,
    Place, PlaceKind, Statement, Target, TargetKind,
};
pub use item::{
    Binding, Constant, ConstantType, CustomOperator, Function, Import, Included, Keyword, Origin, Param, Unit,
};
pub use size::{OutsideSize, SizeOrigin};
pub use ty::{DimExpr, DimKind, Pattern, PatternKind, TypeExpr, TypeKind};

/// A declared variable or `const`; an index into [`Network::bindings`]. Two variables of the same name have different
/// ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindingId(pub usize);

/// A `fn`; an index into [`Network::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionId(pub usize);

/// A unit; an index into [`Network::units`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitId(pub usize);

/// A whole invocation: constants, sub-networks and topologies.
#[derive(Debug, Default)]
pub struct Network {
    /// The names of source files.
    pub files: Files,
    /// The units: first those that are imported, and last the invocation itself.
    pub units: Vec<Unit>,
    /// Whether an import could not be read, so that any unknown name may come from it.
    pub has_unknown_imports: bool,
    /// The constants of all units. `resolve` orders them by dependency, and adds the captured variables of Rust.
    pub constants: Vec<Constant>,
    /// The span of `move` in `network!(move |x| ..)`, which allows the closure to capture variables of Rust.
    pub captures: Option<Span>,
    /// The functions of all units.
    pub functions: Vec<Function>,
    /// The models whose items it has.
    pub included: Vec<Included>,
    /// The items of the invocation that `#[cfg(..)]` removes.
    pub configured_out: Vec<ConfiguredOut>,
    /// The variables, filled in by `resolve`.
    pub bindings: Vec<Binding>,
    /// The types that editors show, without duplicates; filled in when the network has been lowered.
    pub shown: Vec<Shown>,
}

impl Network {
    pub fn is_here(&self, unit: UnitId) -> bool {
        self.units[unit.0].origin == Origin::Here
    }

    pub fn is_library(&self, unit: UnitId) -> bool {
        self.units[unit.0].origin == Origin::Library
    }

    /// The imports of the invocation.
    pub fn imports(&self) -> impl Iterator<Item = &Import> {
        self.units.iter().filter(|unit| unit.origin == Origin::Here).flat_map(|unit| &unit.imports)
    }

    /// Whether an import is a `const`.
    pub fn is_constant(&self, import: &Import) -> bool {
        import.item.as_ref().is_some_and(|(unit, name)| {
            self.constants.iter().any(|constant| constant.unit == *unit && text(&constant.ident) == *name)
        })
    }

    /// Stores the types that editors show of variables.
    pub fn show(&mut self, bindings: BTreeMap<BindingId, Shown>) {
        let types: BTreeSet<Shown> = bindings.values().filter(|ty| **ty != Shown::Value).cloned().collect();
        self.shown = types.into_iter().collect();
        for (id, ty) in bindings {
            self.bindings[id.0].shown = self.shown.binary_search(&ty).ok();
        }
    }

    /// Whether a module that it imports from has mistakes, so that it cannot be compiled either.
    pub fn is_incomplete(&self) -> bool {
        self.units.iter().flat_map(|unit| &unit.imports).any(|import| import.item.is_none())
    }
}

/// The text of a name; `r#gen` is `gen`.
pub fn text(ident: &Ident) -> String {
    ident.unraw().to_string()
}
