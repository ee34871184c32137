//! Readers that change each sample.

use super::{DataOf, Failure, IntoItem, Item, Reader};

/// The reader that [`Reader::map_data`] returns.
#[derive(Clone, Debug)]
pub struct MapData<I, F> {
    reader: I,
    f: F,
}

impl<I, F> MapData<I, F> {
    pub(super) fn new(reader: I, f: F) -> Self {
        MapData { reader, f }
    }
}

impl<I: Reader, R, F: FnMut(DataOf<I>) -> R> Iterator for MapData<I, F> {
    type Item = Item<R>;

    fn next(&mut self) -> Option<Item<R>> {
        Some(self.reader.next()?.into_item().map(&mut self.f))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.reader.size_hint()
    }
}

/// The reader that [`Reader::try_map_data`] returns.
#[derive(Clone, Debug)]
pub struct TryMapData<I, F> {
    reader: I,
    f: F,
}

impl<I, F> TryMapData<I, F> {
    pub(super) fn new(reader: I, f: F) -> Self {
        TryMapData { reader, f }
    }
}

impl<I, R, E, F> Iterator for TryMapData<I, F>
where
    I: Reader,
    E: Into<Failure>,
    F: FnMut(DataOf<I>) -> Result<R, E>,
{
    type Item = Item<R>;

    fn next(&mut self) -> Option<Item<R>> {
        Some(match self.reader.next()?.into_item().map(&mut self.f) {
            Item::Data(Ok(data)) => Item::Data(data),
            Item::Data(Err(error)) => Item::Failed(error.into()),
            Item::EndPass => Item::EndPass,
            Item::Failed(failure) => Item::Failed(failure),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.reader.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Item::{Data, EndPass, Failed};

    #[test]
    fn markers_and_failures_pass() {
        let items = [EndPass, Data(1), Failed("torn".into()), Data(2), EndPass, EndPass];
        let mapped: Vec<_> = items.into_iter().map_data(|x| x + 1).collect();
        assert_eq!(mapped, [EndPass, Data(2), Failed("torn".into()), Data(3), EndPass, EndPass]);
    }

    #[test]
    fn an_error_is_a_failure_in_its_place() {
        let mapped: Vec<_> = ["1", "x", "3"].iter().try_map_data(|text| text.parse::<u8>()).collect();
        assert_eq!(mapped, [Data(1), Failed("invalid digit found in string".into()), Data(3)]);
    }

    #[test]
    fn a_result_is_an_item() {
        let results = [Ok(Data([1])), Err("torn"), Ok(EndPass)];
        let items: Vec<_> = results.into_iter().map_data(|x| x).collect();
        assert_eq!(items, [Data([1]), Failed("torn".into()), EndPass]);
    }

    #[test]
    fn nothing_becomes_nothing() {
        assert_eq!(Vec::<Item<u8>>::new().into_iter().map_data(|x| x).next(), None);
    }
}
