//! What computes an operator of the user's: nothing that this crate looks into.

use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// Anything that a program may carry to any thread, and through a panic.
type Anything = dyn Any + Send + Sync + UnwindSafe + RefUnwindSafe;

/// What is linked to an operator of the user's, for backends, which know what it is; or nothing.
#[derive(Clone, Default)]
pub struct Kernel(Option<Arc<Anything>>);

impl Kernel {
    /// Nothing is linked yet.
    pub fn none() -> Self {
        Kernel(None)
    }

    /// This is linked.
    pub fn new(kernel: impl Any + Send + Sync + UnwindSafe + RefUnwindSafe) -> Self {
        Kernel(Some(Arc::new(kernel)))
    }

    /// What is linked, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let kernel: &dyn Any = self.0.as_deref()?;
        kernel.downcast_ref()
    }
}

/// A program is the same, whatever computes it.
impl PartialEq for Kernel {
    fn eq(&self, _: &Kernel) -> bool {
        true
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "linked" } else { "not linked" })
    }
}
