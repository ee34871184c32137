//! Readers: iterators of samples or batches, with markers at the ends of passes.
//!
//! Any iterator of samples is a reader. A reader with passes yields [`Item`]s: samples, and a marker after each pass.
//! Adapters take both kinds, and pass every marker on.
//!
//! ```
//! use paddle::reader::{DataSet, Item, Reader};
//!
//! let mut reader = ["a", "b", "c"].passes(2).batch(2);
//! for _pass in 0..2 {
//!     assert_eq!(reader.next(), Some(Item::Data(vec!["a", "b"])));
//!     assert_eq!(reader.next(), Some(Item::Data(vec!["c"])));
//!     assert_eq!(reader.next(), Some(Item::EndPass));
//! }
//! assert_eq!(reader.next(), None);
//! ```
//!
//! A failure to read is an item as well: a `Result` is data or a [`Failure`], which passes every adapter and ends the
//! training. The error has its place.
//!
//! ```
//! use paddle::reader::{Item, Reader};
//!
//! let lines = ["1", "2", "two", "4"];
//! let mut reader = lines.iter().try_map_data(|line| line.parse::<u8>()).batch(2);
//! assert_eq!(reader.next(), Some(Item::Data(vec![1, 2])));
//! let Some(Item::Failed(failure)) = reader.next() else { panic!("`two` is no number") };
//! assert_eq!(failure.to_string(), "invalid digit found in string");
//! ```
//!
//! | to | there is |
//! | --- | --- |
//! | go through a collection several times | [`DataSet::passes`] |
//! | go several times through what can be read once | [`Reader::cache`] |
//! | end passes of an endless reader | [`Reader::end_pass_every`] |
//! | change samples | [`Reader::map_data`], [`Reader::try_map_data`]; on several threads [`Reader::parallel_map`] |
//! | change samples at random, alike in every run | [`Reader::with_random`] |
//! | read ahead | [`Reader::buffered`] |
//! | change the order | [`Reader::shuffle`] |
//! | join readers | [`Reader::compose`] side by side, [`Iterator::chain`] one after the other |
//! | read a part | [`Reader::take_data`] |
//! | make batches | [`Reader::batch`] |

mod ahead;
mod batches;
mod cache;
mod compose;
mod failure;
mod map;
mod passes;
mod random;
mod shuffle;
mod take;

pub use ahead::Ahead;
pub use batches::Batches;
pub use cache::Cache;
pub use compose::{Compose, LengthsDiffer};
pub use failure::{Failure, Panicked};
pub use map::{MapData, TryMapData};
pub use passes::{DataSet, EndPassEvery, Passes};
pub use random::{Random, WithRandom};
pub use shuffle::Shuffle;
pub use take::TakeData;

/// An item of a reader: data, the marker that ends a pass, or a failure.
///
/// ```
/// use paddle::reader::{Item, Reader};
///
/// let items = [Item::Data(1), Item::EndPass, Item::Failed("torn".into())];
/// assert!(items.into_iter().map_data(|x| 10 * x).eq([Item::Data(10), Item::EndPass, Item::Failed("torn".into())]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<T> {
    /// A sample or a batch.
    Data(T),
    /// The marker that ends a pass.
    EndPass,
    /// The item could not be read.
    Failed(Failure),
}

impl<T> Item<T> {
    /// Changes the data. Markers and failures stay.
    pub fn map<R>(self, f: impl FnOnce(T) -> R) -> Item<R> {
        match self {
            Item::Data(data) => Item::Data(f(data)),
            Item::EndPass => Item::EndPass,
            Item::Failed(failure) => Item::Failed(failure),
        }
    }
}

/// The items that a reader may yield: an [`Item`], or plain data, which stands for an item of data.
///
/// A network's rows implement it, and so do batches (`Vec`, [`Batch`](crate::Batch)), references, and `Result`s of
/// these.
///
/// ```
/// use paddle::reader::{IntoItem, Item};
///
/// assert_eq!(vec![1.0, 2.0].into_item(), Item::Data(vec![1.0, 2.0]));
/// assert_eq!(Item::<f32>::EndPass.into_item(), Item::EndPass);
/// let unread: Result<[f32; 2], &str> = Err("torn");
/// assert_eq!(unread.into_item(), Item::Failed("torn".into()));
/// ```
#[diagnostic::on_unimplemented(
    message = "a reader yields rows, batches or `Item`s, not `{Self}`; other samples are wrapped: `.map(Item::Data)`"
)]
pub trait IntoItem {
    /// The sample or the batch.
    type Data;

    /// Converts to an [`Item`].
    fn into_item(self) -> Item<Self::Data>;
}

impl<T> IntoItem for Item<T> {
    type Data = T;

    fn into_item(self) -> Item<T> {
        self
    }
}

impl<T> IntoItem for Vec<T> {
    type Data = Self;

    fn into_item(self) -> Item<Self> {
        Item::Data(self)
    }
}

impl<T: ?Sized> IntoItem for &T {
    type Data = Self;

    fn into_item(self) -> Item<Self> {
        Item::Data(self)
    }
}

impl<T: IntoItem, E: Into<Failure>> IntoItem for Result<T, E> {
    type Data = T::Data;

    fn into_item(self) -> Item<T::Data> {
        match self {
            Ok(item) => item.into_item(),
            Err(error) => Item::Failed(error.into()),
        }
    }
}

/// The data of a reader's items.
type DataOf<I> = <<I as Iterator>::Item as IntoItem>::Data;

/// The adapters of readers.
///
/// Numbers that have to be at least 1 (sizes, threads) count as 1 if they are 0.
pub trait Reader: Iterator<Item: IntoItem> + Sized {
    /// Groups samples into batches of `size`.
    ///
    /// The last batch before a marker or before the end of the reader may be smaller. No batch is empty.
    ///
    /// ```
    /// use paddle::reader::{Item, Reader};
    ///
    /// let mut reader = [1, 2, 3].iter().batch(2);
    /// assert_eq!(reader.next(), Some(Item::Data(vec![&1, &2])));
    /// assert_eq!(reader.next(), Some(Item::Data(vec![&3])));
    /// assert_eq!(reader.next(), None);
    /// ```
    fn batch(self, size: usize) -> Batches<Self, DataOf<Self>> {
        Batches::new(self, size)
    }

    /// Changes each sample. (`Iterator::map` would be given the markers as well.)
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item, Reader};
    ///
    /// let reader = [1, 2].passes(1).map_data(|x| 10 * x);
    /// assert!(reader.eq([Item::Data(10), Item::Data(20), Item::EndPass]));
    /// ```
    fn map_data<R, F: FnMut(DataOf<Self>) -> R>(self, f: F) -> MapData<Self, F> {
        MapData::new(self, f)
    }

    /// Changes each sample by a function that may fail. An error ends the training, with the place of the sample.
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item, Reader};
    ///
    /// let reader = ["1", "2"].passes(1).try_map_data(|text| text.parse::<i32>());
    /// assert!(reader.eq([Item::Data(1), Item::Data(2), Item::EndPass]));
    /// ```
    fn try_map_data<R, E, F>(self, f: F) -> TryMapData<Self, F>
    where
        E: Into<Failure>,
        F: FnMut(DataOf<Self>) -> Result<R, E>,
    {
        TryMapData::new(self, f)
    }

    /// Changes each sample on `threads` threads of its own. The order stays.
    ///
    /// The threads start with the first call of `next`, and each reads up to two items ahead. A panic in `f` or in the
    /// reader becomes a [`Failure`] in its place. For errors, let `f` return a `Result`, and append
    /// `.try_map_data(|result| result)`. When the adapter is dropped, each thread ends after its present item.
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item, Reader};
    ///
    /// let reader = [1, 2, 3].passes(1).parallel_map(2, |x| x * x);
    /// assert!(reader.eq([Item::Data(1), Item::Data(4), Item::Data(9), Item::EndPass]));
    /// ```
    fn parallel_map<R, F>(self, threads: usize, f: F) -> Ahead<R>
    where
        Self: Send + 'static,
        DataOf<Self>: Send,
        R: Send + 'static,
        F: Fn(DataOf<Self>) -> R + Send + Sync + 'static,
    {
        Ahead::new(self, threads, threads.saturating_mul(2), f)
    }

    /// Joins each sample with random numbers of its own, for changes such as those of `paddle::data::augment`.
    ///
    /// The numbers depend only on the seed, on the number of the pass in this reader, and on that of the sample in the pass.
    /// So they are the same in every run, on any number of threads, and in a training that is resumed in the middle of a
    /// pass; each pass has others.
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item, Reader};
    ///
    /// let noisy = |(x, mut random): (f32, paddle::reader::Random)| x + 0.1 * random.normal();
    /// let mut alone = [1.0, 2.0].passes(2).with_random(7).map_data(noisy);
    /// let threads = [1.0, 2.0].passes(2).with_random(7).parallel_map(2, noisy);
    /// assert!(alone.by_ref().eq(threads));
    /// ```
    fn with_random(self, seed: u64) -> WithRandom<Self> {
        WithRandom::new(self, seed)
    }

    /// Reads up to `count` items ahead on a thread of its own.
    ///
    /// The thread starts with the first call of `next`. A panic of the reader becomes a [`Failure`] in its place. When
    /// the adapter is dropped, the thread ends after the item that it is reading.
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item, Reader};
    ///
    /// let reader = [1, 2].passes(1).buffered(8);
    /// assert!(reader.eq([Item::Data(1), Item::Data(2), Item::EndPass]));
    /// ```
    fn buffered(self, count: usize) -> Ahead<DataOf<Self>>
    where
        Self: Send + 'static,
        DataOf<Self>: Send + 'static,
    {
        Ahead::new(self, 1, count, |data| data)
    }

    /// Shuffles the samples of each pass: reads `count` of them, yields these in random order, then reads the next.
    ///
    /// Each pass is shuffled separately. Its order depends only on the [seed](Shuffle::seed) and on the number of the
    /// pass in this reader, so it is the same in every run.
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item, Reader};
    ///
    /// let epochs: Vec<Item<Vec<i32>>> = [1, 2, 3, 4, 5].passes(2).shuffle(5).batch(5).collect();
    /// let [Item::Data(first), Item::EndPass, Item::Data(second), Item::EndPass] = &epochs[..] else { panic!() };
    /// assert_ne!(first, second);
    /// assert_eq!(first.iter().sum::<i32>(), second.iter().sum::<i32>());
    /// ```
    fn shuffle(self, count: usize) -> Shuffle<Self, DataOf<Self>> {
        Shuffle::new(self, count)
    }

    /// Joins the samples of two readers into pairs.
    ///
    /// Both readers need the same number of samples in each pass; otherwise a [`LengthsDiffer`] ends the reader. The
    /// end of a reader also ends its pass.
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item, Reader};
    ///
    /// let (images, labels) = (["zero", "one"], [0, 1]);
    /// let reader = images.passes(1).compose(labels.passes(1));
    /// assert!(reader.eq([Item::Data(("zero", 0)), Item::Data(("one", 1)), Item::EndPass]));
    /// ```
    fn compose<J: IntoIterator<Item: IntoItem>>(self, other: J) -> Compose<Self, J::IntoIter> {
        Compose::new(self, other.into_iter())
    }

    /// Ends after `count` samples; nothing more is read. (`Iterator::take` would count the markers as well.)
    ///
    /// ```
    /// use paddle::reader::{DataSet, Item, Reader};
    ///
    /// let reader = [1, 2].passes(9).take_data(3);
    /// assert!(reader.eq([Item::Data(1), Item::Data(2), Item::EndPass, Item::Data(1)]));
    /// ```
    fn take_data(self, count: usize) -> TakeData<Self> {
        TakeData::new(self, count)
    }

    /// Reads everything once, keeps it, and yields it `passes` times, each time with a marker at the end.
    ///
    /// It is for readers that can be read only once, or slowly: `lines.cache(10).shuffle(1000)`. A reader without
    /// samples has no passes.
    ///
    /// ```
    /// use paddle::reader::{Item, Reader};
    ///
    /// let mut numbers = [1, 2].into_iter();
    /// let once = std::iter::from_fn(move || numbers.next().map(Item::Data));
    /// let pass = [Item::Data(1), Item::Data(2), Item::EndPass];
    /// assert!(once.cache(2).eq([pass.clone(), pass].concat()));
    /// ```
    fn cache(self, passes: usize) -> Cache<Self, DataOf<Self>>
    where
        DataOf<Self>: Clone,
    {
        Cache::new(self, passes)
    }

    /// Ends the pass after every `count` samples or batches, for readers that are endless or have long passes.
    ///
    /// The reader's own markers end a pass as well, and restart the count.
    ///
    /// ```
    /// use paddle::reader::{Item, Reader};
    ///
    /// let mut reader = (1..).map(Item::Data).end_pass_every(2);
    /// assert!(reader.by_ref().take(3).eq([Item::Data(1), Item::Data(2), Item::EndPass]));
    /// assert_eq!(reader.next(), Some(Item::Data(3)));
    /// ```
    fn end_pass_every(self, count: usize) -> EndPassEvery<Self> {
        EndPassEvery::new(self, count)
    }
}

impl<I: Iterator<Item: IntoItem>> Reader for I {}
