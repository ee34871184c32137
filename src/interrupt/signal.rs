//! The signal of Ctrl-C, SIGINT.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use super::InterruptError;
use crate::options::Options;

/// The state of the signal's handlers, for the whole process.
static CAUGHT: Mutex<Caught> = Mutex::new(Caught { ends_process: None, trainings: 0 });

struct Caught {
    /// Whether the next signal ends the process, which is its default action. The flag is false from the beginning of a
    /// training that catches the signal until the first signal, which sets it. `None` before the handlers are
    /// registered.
    ends_process: Option<Arc<AtomicBool>>,
    /// The number of trainings that catch the signal now.
    trainings: usize,
}

/// As long as it lives, the first Ctrl-C is only recorded. A second one ends the process.
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
}

impl Interrupt {
    /// Catches Ctrl-C if the options ask for it.
    pub(crate) fn wanted_by(options: &Options) -> Result<Option<Self>, InterruptError> {
        options.interruptible.then(Interrupt::catch).transpose()
    }

    pub(crate) fn catch() -> Result<Self, InterruptError> {
        let mut caught = CAUGHT.lock().unwrap_or_else(PoisonError::into_inner);
        let came = match &caught.ends_process {
            Some(came) => Arc::clone(came),
            None => {
                let came = Arc::new(AtomicBool::new(true));
                // Handlers run in the order of registration, so the first one does not see the flag that the second one
                // sets.
                flag::register_conditional_default(SIGINT, Arc::clone(&came)).map_err(InterruptError)?;
                flag::register(SIGINT, Arc::clone(&came)).map_err(InterruptError)?;
                caught.ends_process = Some(Arc::clone(&came));
                came
            }
        };
        if caught.trainings == 0 {
            came.store(false, Ordering::SeqCst);
        }
        caught.trainings += 1;
        Ok(Interrupt { came })
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        let mut caught = CAUGHT.lock().unwrap_or_else(PoisonError::into_inner);
        caught.trainings -= 1;
        if caught.trainings == 0 {
            self.came.store(true, Ordering::SeqCst);
        }
    }
}
