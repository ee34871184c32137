//! The kernel that is linked to a user's operator. This crate never looks into it.

use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// A program may be moved to any thread and through a panic, so a kernel in it has to allow both.
type Anything = dyn Any + Send + Sync + UnwindSafe + RefUnwindSafe;

/// The kernel of a user's operator, or nothing as long as none is linked. Only backends know its type.
#[derive(Clone, Default)]
pub struct LinkedKernel(Option<Arc<Anything>>);

impl LinkedKernel {
    /// No kernel.
    pub fn none() -> Self {
        LinkedKernel(None)
    }

    /// Links `kernel`.
    pub fn new(kernel: impl Any + Send + Sync + UnwindSafe + RefUnwindSafe) -> Self {
        LinkedKernel(Some(Arc::new(kernel)))
    }

    /// The kernel, if one of this type is linked.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let kernel: &dyn Any = self.0.as_deref()?;
        kernel.downcast_ref()
    }
}

/// Kernels are no part of a program's meaning, so all are equal.
impl PartialEq for LinkedKernel {
    fn eq(&self, _: &LinkedKernel) -> bool {
        true
    }
}

impl fmt::Debug for LinkedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "linked" } else { "not linked" })
    }
}
