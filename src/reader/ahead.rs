//! Readers that read ahead on their own threads.

use std::fmt;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::{DataOf, IntoItem, Item, Panicked, Reader};

/// The most items that are read ahead. Room for them is allocated at once, so the number is limited.
const MOST: usize = 1 << 16;

/// The reader that [`Reader::buffered`] and [`Reader::parallel_map`] return.
pub struct Ahead<R>(State<R>);

enum State<R> {
    /// The function that starts the threads.
    Idle(Box<dyn FnOnce() -> io::Result<Promises<R>> + Send>),
    Running(Promises<R>),
    Ended,
}

/// The items in order; each arrives as soon as a thread has it.
type Promises<R> = Receiver<Receiver<Item<R>>>;

impl<R: Send + 'static> Ahead<R> {
    /// Reads up to `count` items ahead, and applies `f` to them on `threads` threads.
    pub(super) fn new<I, F>(reader: I, threads: usize, count: usize, f: F) -> Self
    where
        I: Reader + Send + 'static,
        DataOf<I>: Send,
        F: Fn(DataOf<I>) -> R + Send + Sync + 'static,
    {
        Ahead(State::Idle(Box::new(move || {
            // The thread that has to wait holds one more.
            let (promises, items) = sync_channel(count.clamp(1, MOST) - 1);
            let source = Arc::new(Mutex::new(Some(Source { reader, promises })));
            let f = Arc::new(f);
            for _ in 0..threads.max(1) {
                let (source, f) = (Arc::clone(&source), Arc::clone(&f));
                thread::Builder::new().name("reader".to_string()).spawn(move || work(&source, &*f))?;
            }
            Ok(items)
        })))
    }
}

impl<R> Iterator for Ahead<R> {
    type Item = Item<R>;

    fn next(&mut self) -> Option<Item<R>> {
        let items = match mem::replace(&mut self.0, State::Ended) {
            State::Idle(start) => match start() {
                Ok(items) => items,
                Err(error) => return Some(Item::Failed(error.into())),
            },
            State::Running(items) => items,
            State::Ended => return None,
        };
        let promise = items.recv().ok()?;
        self.0 = State::Running(items);
        Some(promise.recv().unwrap_or_else(|_| Item::Failed("a thread of the reader ended".into())))
    }
}

impl<R> fmt::Debug for Ahead<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").finish_non_exhaustive()
    }
}

/// The state that the threads share. They take turns in reading, and send a promise for each item in the order of the
/// turns.
struct Source<I, R> {
    reader: I,
    promises: SyncSender<Receiver<Item<R>>>,
}

/// The work of a thread. It ends with the reader, or when nobody waits for its items.
fn work<I: Reader, R>(source: &Mutex<Option<Source<I, R>>>, f: &impl Fn(DataOf<I>) -> R) {
    while let Some((item, keep)) = take_turn(source) {
        let item = item.and_then(|item| catch(|| item.map(f)));
        if keep.send(item.unwrap_or_else(|panicked| Item::Failed(panicked.into()))).is_err() {
            return;
        }
    }
}

/// An item, and the channel for its result.
type Turn<I, R> = (Result<Item<DataOf<I>>, Panicked>, SyncSender<Item<R>>);

fn take_turn<I: Reader, R>(shared: &Mutex<Option<Source<I, R>>>) -> Option<Turn<I, R>> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let Source { reader, promises } = shared.as_mut()?;
    let item = catch(|| reader.next().map(IntoItem::into_item)).transpose();
    let (keep, promise) = sync_channel(1);
    let promised = item.is_some() && promises.send(promise).is_ok();
    if !promised || matches!(item, Some(Err(_))) {
        *shared = None;
    }
    item.filter(|_| promised).map(|item| (item, keep))
}

fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Panicked> {
    // After a panic the reader is not asked again, and the shared state has to be unwind safe.
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| Panicked::new(&*payload))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::reader::DataSet;
    use Item::{Data, EndPass, Failed};

    /// Waits until other threads make the condition true.
    fn eventually(condition: impl Fn() -> bool) {
        let begin = Instant::now();
        while !condition() {
            assert!(begin.elapsed() < Duration::from_secs(20), "it does not come");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn panicked(text: &str) -> Item<i32> {
        Failed(format!("a thread of the reader panicked: {text}").into())
    }

    #[test]
    fn the_order_is_kept() {
        let expected: Vec<_> = (0..200).passes(2).map_data(|x| 3 * x).collect();
        for threads in [0, 1, 2, 7] {
            // The first items take the longest.
            let slow = |x: i32| {
                thread::sleep(Duration::from_micros(((200 - x) % 7) as u64 * 100));
                3 * x
            };
            assert_eq!((0..200).passes(2).parallel_map(threads, slow).collect::<Vec<_>>(), expected);
        }
        for count in [0, 1, 5, usize::MAX] {
            let items: Vec<_> = expected.clone().into_iter().buffered(count).collect();
            assert_eq!(items, expected);
        }
    }

    #[test]
    fn markers_and_failures_pass() {
        let items = vec![EndPass, Data(1), Failed("torn".into()), EndPass, EndPass, Data(2)];
        assert_eq!(items.clone().into_iter().buffered(2).collect::<Vec<_>>(), items);
        assert_eq!(items.clone().into_iter().parallel_map(3, |x| x).collect::<Vec<_>>(), items);
        assert_eq!(Vec::<Item<i32>>::new().into_iter().buffered(2).next(), None);
        assert_eq!(Vec::<Item<i32>>::new().into_iter().parallel_map(2, |x| x).next(), None);
    }

    #[test]
    fn a_panic_is_a_failure_in_its_place() {
        let fragile = |x: i32| if x == 2 { panic!("no {x}") } else { x };
        let items: Vec<_> = [1, 2, 3].map(Data).into_iter().parallel_map(2, fragile).collect();
        assert_eq!(items, [Data(1), panicked("no 2"), Data(3)]);
        let reader = || (1..9).map(|x| if x == 3 { panic!("the disk is gone") } else { Data(x) });
        let expected = [Data(1), Data(2), panicked("the disk is gone")];
        assert_eq!(reader().buffered(1).collect::<Vec<_>>(), expected);
        assert_eq!(reader().parallel_map(3, |x| x).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn nothing_is_read_before_it_is_wanted() {
        let reads = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&reads);
        let mut reader = (0..)
            .map(move |x| {
                count.fetch_add(1, Ordering::SeqCst);
                Data(x)
            })
            .buffered(3);
        assert_eq!(reads.load(Ordering::SeqCst), 0);
        assert_eq!(reader.next(), Some(Data(0)));
        eventually(|| reads.load(Ordering::SeqCst) == 4);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(reads.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn dropping_the_reader_ends_its_threads() {
        /// The items share a count that tells whether the reader still exists.
        fn endless(alive: &Arc<()>) -> impl Reader<Item = Item<Arc<()>>> + Send + 'static {
            std::iter::repeat(Data(Arc::clone(alive)))
        }
        let alive = Arc::new(());
        for mut reader in [endless(&alive).buffered(2), endless(&alive).parallel_map(3, |data| data)] {
            assert!(matches!(reader.next(), Some(Data(_))));
            assert!(Arc::strong_count(&alive) > 1);
        }
        eventually(|| Arc::strong_count(&alive) == 1);
    }
}
