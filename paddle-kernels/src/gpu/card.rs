//! Descriptions of cards, and why one cannot be used.

use std::fmt;

/// A description of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The backend that uses it: `wgpu` or `cuda`.
    pub backend: &'static str,
    /// Its number among the cards of the backend, by which it is asked for.
    pub number: usize,
    /// The name that its driver gives.
    pub name: String,
    /// What else tells it from others: its interface, its kind, its memory.
    pub details: String,
    /// Whether it is a card indeed, and no program on the processor.
    pub is_real: bool,
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} ({})", self.backend, self.number, self.name, self.details)
    }
}

/// Why a card cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardError {
    /// There is no card of this number.
    Missing {
        /// The backend.
        backend: &'static str,
        /// The number.
        number: usize,
        /// The cards that the backend finds.
        found: Vec<Card>,
        /// Why it finds none.
        reason: String,
    },
    /// The driver refuses it, or what kernels are compiled with is not there.
    Refused {
        /// The card.
        card: Box<Card>,
        /// What the driver says.
        message: String,
    },
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CardError::Missing { backend, number, found, reason } if found.is_empty() => {
                write!(f, "there is no card {backend}:{number}: {reason}")
            }
            CardError::Missing { backend, number, found, .. } => {
                write!(f, "there is no card {backend}:{number}; found")?;
                found.iter().try_for_each(|card| write!(f, "\n  {card}"))
            }
            CardError::Refused { card, message } => write!(f, "card {card} cannot be used: {message}"),
        }
    }
}

impl std::error::Error for CardError {}
