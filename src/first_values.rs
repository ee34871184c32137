//! The first values of parameters. They are computed when values are first needed, so those that are set or read from
//! a file before are never computed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use paddle_core::plan::{
    Backend, Buffers, HostSlice, PlanError, Storage, Stored, check_initializers, initialize,
};

use crate::element::Values;
use crate::model::Model;
use crate::parameter_values::ParameterValues;

/// The values of a set of parameters, some of which may not be computed yet.
pub(crate) struct LazyValues<B: Backend> {
    /// None once all parameters have values.
    waiting: Mutex<Option<Waiting<B>>>,
    values: OnceLock<ParameterValues<B>>,
    /// Where values were fetched from, where they still are, and their version here.
    fetched: Mutex<Option<(Arc<dyn Elsewhere>, u64)>>,
}

/// A place where the values of parameters are until they are needed.
pub(crate) trait Elsewhere: Send + Sync {
    /// Values, by name.
    fn fetch(&self) -> Result<Vec<(String, Values)>, String>;

    /// The number that the first of the processes has that have these values and do the same, and whether this one is the first. All of
    /// them have to ask, each with a number of its own.
    fn agree(&self, own: u64) -> Result<(u64, bool), String> {
        Ok((own, true))
    }
}

/// The buffers of parameters before the first use.
struct Waiting<B: Backend> {
    buffers: Buffers<B>,
    models: Vec<Arc<Model>>,
    /// The index of the network that initialises each parameter that has no value.
    initialized_by: BTreeMap<String, usize>,
    seed: u64,
    /// Where the values are, if no network initialises them.
    elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Those that were set since then, which are newer.
    set_here: BTreeSet<String>,
}

/// Calls `each` with each model, and with which parameters it initialises.
fn for_each_model(
    models: &[Arc<Model>],
    initialized_by: &BTreeMap<String, usize>,
    mut each: impl FnMut(&Model, &dyn Fn(&str) -> bool) -> Result<(), PlanError>,
) -> Result<(), PlanError> {
    models.iter().enumerate().try_for_each(|(at, model)| {
        let wanted = |name: &str| initialized_by.get(name) == Some(&at);
        each(model, &wanted)
    })
}

impl<B: Backend> LazyValues<B> {
    /// No values yet, in these buffers. Errors if the backend lacks an operator that computes one of them.
    pub(crate) fn new(
        backend: &B,
        storage: &Storage,
        buffers: Buffers<B>,
        models: &[Arc<Model>],
        initialized_by: BTreeMap<String, usize>,
        seed: u64,
    ) -> Result<Self, PlanError> {
        for_each_model(models, &initialized_by, |model, wanted| {
            check_initializers(backend, &model.program, storage, wanted)
        })?;
        let waiting = Waiting {
            buffers,
            models: models.to_vec(),
            initialized_by,
            seed,
            elsewhere: None,
            set_here: BTreeSet::new(),
        };
        Ok(LazyValues {
            waiting: Mutex::new(Some(waiting)),
            values: OnceLock::new(),
            fetched: Mutex::new(None),
        })
    }

    /// The values in these buffers.
    pub(crate) fn of(buffers: Buffers<B>) -> Self {
        LazyValues {
            waiting: Mutex::new(None),
            values: OnceLock::from(ParameterValues::new(buffers)),
            fetched: Mutex::new(None),
        }
    }

    /// All values.
    pub(crate) fn get(&self, backend: &B, storage: &Storage) -> Result<&ParameterValues<B>, PlanError> {
        match self.values.get() {
            Some(values) => Ok(values),
            None => self.compute(backend, storage),
        }
    }

    /// All values, for exclusive use.
    pub(crate) fn get_mut(
        &mut self,
        backend: &B,
        storage: &Storage,
    ) -> Result<&mut ParameterValues<B>, PlanError> {
        self.get(backend, storage)?;
        Ok(self.values.get_mut().expect("all values are there"))
    }

    /// Leaves the values to a place that has newer ones.
    #[cfg(feature = "cluster")]
    pub(crate) fn leave(&mut self, elsewhere: Arc<dyn Elsewhere>) {
        if let Some(values) = self.values.take() {
            let waiting = Waiting {
                buffers: values.into_buffers(),
                models: Vec::new(),
                initialized_by: BTreeMap::new(),
                seed: 0,
                elsewhere: Some(elsewhere),
                set_here: BTreeSet::new(),
            };
            *self.waiting.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
        }
    }

    /// Whether the values are elsewhere, and have not been changed here.
    #[cfg(feature = "cluster")]
    pub(crate) fn is_elsewhere(&self) -> bool {
        match self.values.get() {
            Some(values) => {
                let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
                fetched.as_ref().is_some_and(|(_, version)| *version == values.version())
            }
            None => {
                let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting
                    .as_ref()
                    .is_some_and(|waiting| waiting.elsewhere.is_some() && waiting.set_here.is_empty())
            }
        }
    }

    /// What all processes that have these values agree on, see [`Elsewhere::agree`]. One whose values are its own agrees with itself.
    pub(crate) fn agree(&self, own: u64) -> Result<(u64, bool), PlanError> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut elsewhere = waiting.as_ref().and_then(|waiting| waiting.elsewhere.clone());
        drop(waiting);
        if elsewhere.is_none() {
            let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
            elsewhere = fetched.as_ref().map(|(from, _)| Arc::clone(from));
        }
        match elsewhere {
            Some(elsewhere) => elsewhere.agree(own).map_err(|message| PlanError::Elsewhere { message }),
            None => Ok((own, true)),
        }
    }

    /// Sets a value.
    pub(crate) fn set(&mut self, backend: &B, to: &Stored, from: HostSlice<'_>) {
        match self.values.get_mut() {
            Some(values) => values.buffers_mut().upload(backend, to, from),
            None => {
                let waiting = self.waiting.get_mut().unwrap_or_else(PoisonError::into_inner);
                let waiting = waiting.as_mut().expect("what has no values yet waits for them");
                waiting.buffers.upload(backend, to, from);
                waiting.initialized_by.remove(&to.name);
                if waiting.elsewhere.is_some() {
                    waiting.set_here.insert(to.name.clone());
                }
            }
        }
    }

    /// Computes the values that nobody has set. After an error all of them go on waiting.
    #[cold]
    fn compute(&self, backend: &B, storage: &Storage) -> Result<&ParameterValues<B>, PlanError> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have computed them while this one waited for the lock.
        if let Some(Waiting { buffers, models, initialized_by, seed, elsewhere, set_here }) = waiting.as_mut()
        {
            if let Some(elsewhere) = elsewhere {
                let values = elsewhere.fetch().map_err(|message| PlanError::Elsewhere { message })?;
                for (name, values) in values.into_iter().filter(|(name, _)| !set_here.contains(name)) {
                    if let Some(stored) = storage.find(&name) {
                        buffers.upload(backend, stored, values.as_slice());
                    }
                }
                let fetched = set_here.is_empty().then(|| (Arc::clone(elsewhere), buffers.version()));
                *self.fetched.lock().unwrap_or_else(PoisonError::into_inner) = fetched;
            }
            for_each_model(models, initialized_by, |model, wanted| {
                initialize(backend, &model.program, storage, wanted, buffers, *seed)
            })?;
        }
        let computed = waiting.take().map(|waiting| ParameterValues::new(waiting.buffers));
        Ok(self.values.get_or_init(|| computed.expect("what does not wait has values")))
    }
}
