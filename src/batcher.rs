//! Rows of many callers, computed together: for services, whose requests have few rows each.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Collects the rows of callers on any threads, and computes them together on a thread of its own.
///
/// A run of a program has a cost of its own, and reads the parameters once for all of its rows. So a service whose requests have few rows each
/// may answer more of them if those that come at the same time are computed at once; how many more depends on the network. Each caller
/// gets the results of its own rows. As each row is computed by itself, they are those that it would get alone, bit for bit.
///
/// ```
/// use paddle::batcher::{Batcher, Limits};
/// use paddle::{Parameters, infer, network};
///
/// let net = network!(|x: Tensor<f32, _, 2>| sum(fc(x, 3, act = tanh), axis = 1));
/// let parameters = Parameters::create(&net)?;
/// let alone = infer(&net, &parameters, [[1.0, 2.0]])?;
///
/// let batcher = Batcher::new(Limits::default(), move |rows: Vec<[f32; 2]>| {
///     infer(&net, &parameters, rows)?.at::<f32>(0).map(|sums| sums.iter().copied().collect()).map_err(paddle::Error::from)
/// })?;
/// let (first, second) = (batcher.submit(vec![[1.0, 2.0]])?, batcher.submit(vec![[0.0, 0.5], [1.0, 2.0]])?);
/// assert_eq!(first.wait()?, [alone.at::<f32>(0)?[[0]]]);
/// assert_eq!(second.wait()?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batcher<Q, A> {
    shared: Arc<Shared<Q, A>>,
    thread: Option<JoinHandle<()>>,
}

/// How many rows a [`Batcher`] collects, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most rows that are computed at once, unless a single request has more. 256 otherwise.
    pub batch: usize,
    /// For how long the first row waits for others while there are fewer. 0 otherwise: then what came during a run is computed
    /// together in the next one, and no row waits for nothing.
    pub wait: Duration,
    /// The most rows that wait. 4,096 otherwise.
    pub queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { batch: 256, wait: Duration::ZERO, queue: 4_096 }
    }
}

/// Why a [`Batcher`] does not answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BatcherError {
    /// As many rows wait as may: try again later.
    Full {
        /// How many wait.
        waiting: usize,
    },
    /// It has been closed, or its thread has panicked.
    Closed,
    /// The rows could not be computed.
    Failed(Arc<dyn Error + Send + Sync>),
    /// There is another number of results than of rows.
    Results {
        /// The number of results.
        found: usize,
        /// The number of rows.
        expected: usize,
    },
}

impl fmt::Display for BatcherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { waiting } => write!(f, "{waiting} rows wait already, and no more may"),
            Self::Closed => write!(f, "no rows are computed any more"),
            Self::Failed(error) => write!(f, "the rows cannot be computed: {error}"),
            Self::Results { found, expected } => {
                write!(f, "found {found} results, expected one for each of {expected} rows")
            }
        }
    }
}

impl Error for BatcherError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => Some(&**error),
            Self::Full { .. } | Self::Closed | Self::Results { .. } => None,
        }
    }
}

/// What is to come of some rows: [`wait`](Answer::wait) for it on a thread, or `await` it. Rows whose answer is dropped before they are
/// computed are left out.
pub struct Answer<A>(Arc<Slot<A>>);

struct Slot<A> {
    state: Mutex<SlotState<A>>,
    is_ready: Condvar,
}

struct SlotState<A> {
    result: Option<Result<Vec<A>, BatcherError>>,
    waker: Option<Waker>,
}

struct Request<Q, A> {
    rows: Vec<Q>,
    answer: Weak<Slot<A>>,
    arrived: Instant,
}

impl<Q, A> Drop for Request<Q, A> {
    /// Whoever still waits will not be answered.
    fn drop(&mut self) {
        answer(&self.answer, Err(BatcherError::Closed));
    }
}

struct Shared<Q, A> {
    queue: Mutex<Queue<Q, A>>,
    has_changed: Condvar,
    limits: Limits,
}

struct Queue<Q, A> {
    requests: VecDeque<Request<Q, A>>,
    /// The rows of all requests.
    rows: usize,
    is_closed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a result to whoever waits for it, unless there is one.
fn answer<A>(slot: &Weak<Slot<A>>, result: Result<Vec<A>, BatcherError>) {
    let Some(slot) = slot.upgrade() else { return };
    let mut state = lock(&slot.state);
    if state.result.is_none() {
        state.result = Some(result);
        let waker = state.waker.take();
        drop(state);
        slot.is_ready.notify_all();
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<Q: Send + 'static, A: Send + 'static> Batcher<Q, A> {
    /// Starts the thread, on which `compute` makes a result of each row, in their order.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn new<E: Into<Box<dyn Error + Send + Sync>>>(
        limits: Limits,
        mut compute: impl FnMut(Vec<Q>) -> Result<Vec<A>, E> + Send + 'static,
    ) -> std::io::Result<Self> {
        let queue = Queue { requests: VecDeque::new(), rows: 0, is_closed: false };
        let shared = Arc::new(Shared { queue: Mutex::new(queue), has_changed: Condvar::new(), limits });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("batcher".into()).spawn(move || {
            // Also if `compute` panics.
            let closing = Closing(&of_thread);
            while let Some(requests) = of_thread.take() {
                run(requests, &mut compute);
            }
            drop(closing);
        })?;
        Ok(Batcher { shared, thread: Some(thread) })
    }

    /// Hands in rows. Their results are those of `compute`, in their order.
    ///
    /// # Errors
    /// [`BatcherError::Full`] if as many rows wait as may; [`BatcherError::Closed`].
    pub fn submit(&self, rows: Vec<Q>) -> Result<Answer<A>, BatcherError> {
        let slot = Arc::new(Slot {
            state: Mutex::new(SlotState { result: None, waker: None }),
            is_ready: Condvar::new(),
        });
        let mut queue = lock(&self.shared.queue);
        if queue.is_closed {
            return Err(BatcherError::Closed);
        }
        if queue.rows.saturating_add(rows.len()) > self.shared.limits.queue {
            return Err(BatcherError::Full { waiting: queue.rows });
        }
        queue.rows += rows.len();
        let (answer, arrived) = (Arc::downgrade(&slot), Instant::now());
        queue.requests.push_back(Request { rows, answer, arrived });
        drop(queue);
        self.shared.has_changed.notify_one();
        Ok(Answer(slot))
    }

    /// How many rows wait.
    pub fn waiting(&self) -> usize {
        lock(&self.shared.queue).rows
    }
}

impl<Q, A> Batcher<Q, A> {
    /// Takes no more rows. Those that wait are computed still; dropping the batcher waits for them.
    pub fn close(&self) {
        lock(&self.shared.queue).is_closed = true;
        self.shared.has_changed.notify_one();
    }
}

impl<Q, A> Drop for Batcher<Q, A> {
    fn drop(&mut self) {
        self.close();
        // A panic of `compute` has been told to all who waited.
        self.thread.take().map(JoinHandle::join);
    }
}

/// Lets nobody wait for a thread that has ended.
struct Closing<'a, Q, A>(&'a Shared<Q, A>);

impl<Q, A> Drop for Closing<'_, Q, A> {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.is_closed = true;
        let left = std::mem::take(&mut queue.requests);
        queue.rows = 0;
        drop(queue);
        drop(left);
    }
}

impl<Q, A> Shared<Q, A> {
    /// Waits for the requests of the next run; `None` once there are none left and no more can come.
    fn take(&self) -> Option<Vec<Request<Q, A>>> {
        let mut queue = lock(&self.queue);
        loop {
            // Nobody wants the rows of an answer that was dropped.
            while queue.requests.front().is_some_and(|request| request.answer.strong_count() == 0) {
                queue.pop();
            }
            let Some(first) = queue.requests.front() else {
                if queue.is_closed {
                    return None;
                }
                queue = self.has_changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = self.limits.wait.saturating_sub(first.arrived.elapsed());
            if queue.rows >= self.limits.batch || left.is_zero() || queue.is_closed {
                return Some(queue.batch(self.limits.batch));
            }
            let waited = self.has_changed.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<Q, A> Queue<Q, A> {
    fn pop(&mut self) -> Option<Request<Q, A>> {
        let request = self.requests.pop_front()?;
        self.rows -= request.rows.len();
        Some(request)
    }

    /// The first request, and those behind it that fit into a batch with it.
    fn batch(&mut self, most: usize) -> Vec<Request<Q, A>> {
        let (mut batch, mut rows) = (Vec::new(), 0);
        while let Some(next) = self.requests.front() {
            if !batch.is_empty() && rows + next.rows.len() > most {
                break;
            }
            rows += next.rows.len();
            batch.extend(self.pop());
        }
        batch
    }
}

/// Computes the rows of requests together, and answers each.
fn run<Q, A, E: Into<Box<dyn Error + Send + Sync>>>(
    mut requests: Vec<Request<Q, A>>,
    compute: &mut impl FnMut(Vec<Q>) -> Result<Vec<A>, E>,
) {
    requests.retain(|request| request.answer.strong_count() > 0);
    let counts: Vec<_> = requests.iter().map(|request| request.rows.len()).collect();
    let rows: Vec<_> = requests.iter_mut().flat_map(|request| std::mem::take(&mut request.rows)).collect();
    let expected = rows.len();
    let computed = if expected == 0 { Ok(Vec::new()) } else { compute(rows) };
    let results = match computed {
        Ok(results) if results.len() == expected => Ok(results),
        Ok(results) => Err(BatcherError::Results { found: results.len(), expected }),
        Err(error) => Err(BatcherError::Failed(Arc::from(error.into()))),
    };
    match results {
        Ok(results) => {
            let mut results = results.into_iter();
            for (request, count) in requests.iter().zip(counts) {
                answer(&request.answer, Ok(results.by_ref().take(count).collect()));
            }
        }
        Err(error) => requests.iter().for_each(|request| answer(&request.answer, Err(error.clone()))),
    }
}

impl<A> Answer<A> {
    /// Waits for the results.
    ///
    /// # Errors
    /// The rows could not be computed, or the batcher was closed before.
    pub fn wait(self) -> Result<Vec<A>, BatcherError> {
        let mut state = lock(&self.0.state);
        loop {
            match state.result.take() {
                Some(result) => return result,
                None => state = self.0.is_ready.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl<A> Future for Answer<A> {
    type Output = Result<Vec<A>, BatcherError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.0.state);
        match state.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests;
