//! Failures: items that could not be read.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The reason why an item could not be read: any error, or any text.
///
/// Clones share the error. Two failures are equal if their texts are.
///
/// ```
/// use paddle::reader::Failure;
///
/// let failure = Failure::from("x".parse::<f32>().unwrap_err());
/// assert_eq!(failure.to_string(), "invalid float literal");
/// assert_eq!(Failure::from("torn").error().to_string(), "torn");
/// ```
#[derive(Clone)]
pub struct Failure(Arc<dyn Error + Send + Sync>);

impl Failure {
    /// The error. `downcast_ref` gives its concrete type.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.into().into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Failure {}

/// A reader's thread panicked.
///
/// ```
/// use paddle::reader::{Item, Panicked, Reader};
///
/// let reader = [4_u32, 0].into_iter().map(Item::Data).parallel_map(2, |x| 8 / x);
/// let Some(Item::Failed(failure)) = reader.last() else { panic!("nothing is divided by 0") };
/// assert!(failure.error().is::<Panicked>());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    message: String,
}

impl Panicked {
    pub(super) fn new(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Panicked { message: text.unwrap_or("no message").to_string() }
    }
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a thread of the reader panicked: {}", self.message)
    }
}

impl Error for Panicked {}
