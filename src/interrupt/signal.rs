//! The signal of Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use super::InterruptError;
use crate::options::Options;

/// The signal for the whole process.
static CAUGHT: Mutex<Caught> = Mutex::new(Caught { ends_process: None, trainings: 0 });

struct Caught {
    /// Whether the next signal does what it does by default, which is to end the process: yes, but between the beginning
    /// of a training that catches it and the first signal. That signal sets it.
    ends_process: Option<Arc<AtomicBool>>,
    /// The trainings that catch it now.
    trainings: usize,
}

/// As long as it lives, a first Ctrl-C only says that it came. A second one ends the process.
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
}

impl Interrupt {
    /// Catches it, if the training is to be interruptible.
    pub(crate) fn wanted_by(options: &Options) -> Result<Option<Self>, InterruptError> {
        options.interruptible.then(Interrupt::catch).transpose()
    }

    fn catch() -> Result<Self, InterruptError> {
        let mut caught = CAUGHT.lock().unwrap_or_else(PoisonError::into_inner);
        let came = match &caught.ends_process {
            Some(came) => Arc::clone(came),
            None => {
                let came = Arc::new(AtomicBool::new(true));
                // The actions run in this order, so that a signal does not see what it sets.
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

    /// Whether it came.
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
