//! Placement: which rows of which parameters each server has.

use std::num::NonZero;
use std::ops::Range;

use crate::passes::clip::rows_of_block;
use crate::program::DType;

/// The number of elements that a piece has at least, unless a parameter is smaller: that of PaddlePaddle.
pub const SMALLEST_PIECE: usize = 8192;

/// A run of rows of a parameter, along its first axis, on one server. A parameter without axes is one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The name of the parameter on the server: that of the parameter itself, or `w.block1`, if it is cut.
    pub name: String,
    /// The parameter.
    pub parameter: String,
    /// The element type.
    pub dtype: DType,
    /// The dimensions of the piece.
    pub dims: Vec<usize>,
    /// Its rows.
    pub rows: Range<usize>,
    /// The number of the server.
    pub server: u32,
}

impl Piece {
    /// The number of elements of a row.
    pub fn row_elements(&self) -> usize {
        self.dims.iter().skip(1).product()
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }
}

/// A parameter to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its element type.
    pub dtype: DType,
    /// Its dimensions.
    pub dims: &'a [usize],
}

/// The pieces of all parameters of a job, in the order of the parameters and of their rows. It depends on the parameters and
/// on the number of servers, not on the programs that use them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    servers: NonZero<u32>,
    pieces: Vec<Piece>,
}

impl Placement {
    /// Places parameters on servers. Large ones are cut into as many pieces as there are servers, if each has
    /// [`SMALLEST_PIECE`] elements, between blocks of rows that depend on the parameter alone; with `whole` none is cut. Each piece goes to the server that has the fewest elements so
    /// far.
    pub fn new<'a>(
        parameters: impl IntoIterator<Item = Placed<'a>>,
        servers: NonZero<u32>,
        whole: bool,
    ) -> Placement {
        let mut loads = vec![0usize; servers.get() as usize];
        let mut pieces = Vec::new();
        for Placed { name, dtype, dims } in parameters {
            let rows = dims.first().copied().unwrap_or(1);
            let width: usize = dims.iter().skip(1).product();
            let wanted = match whole {
                true => 1,
                false => (rows.saturating_mul(width) / SMALLEST_PIECE).clamp(1, loads.len()),
            };
            let each = rows.div_ceil(wanted).max(1).next_multiple_of(rows_of_block(dims).unwrap_or(1));
            let count = rows.div_ceil(each).max(1);
            for at in 0..count {
                let rows = at * each..rows.min((at + 1) * each);
                let piece = if count == 1 { name.to_string() } else { format!("{name}.block{at}") };
                let mut own = dims.to_vec();
                own.iter_mut().take(1).for_each(|first| *first = rows.len());
                let least = (0..loads.len()).min_by_key(|&server| loads[server]).unwrap_or(0);
                loads[least] = loads[least].saturating_add(rows.len().saturating_mul(width));
                let parameter = name.to_string();
                pieces.push(Piece { name: piece, parameter, dtype, dims: own, rows, server: least as u32 });
            }
        }
        Placement { servers, pieces }
    }

    /// Places each parameter as a whole on the server that `home` says.
    pub fn at_home<'a>(
        parameters: impl IntoIterator<Item = Placed<'a>>,
        servers: NonZero<u32>,
        home: impl Fn(&str) -> u32,
    ) -> Placement {
        let piece = |Placed { name, dtype, dims }: Placed<'_>| Piece {
            name: name.to_string(),
            parameter: name.to_string(),
            dtype,
            dims: dims.to_vec(),
            rows: 0..dims.first().copied().unwrap_or(1),
            server: home(name),
        };
        Placement { servers, pieces: parameters.into_iter().map(piece).collect() }
    }

    /// The number of servers.
    pub fn servers(&self) -> NonZero<u32> {
        self.servers
    }

    /// All pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The dimensions of a parameter.
    pub fn dims_of(&self, parameter: &str) -> Vec<usize> {
        let mut dims = self.of(parameter).next().map(|piece| piece.dims.clone()).unwrap_or_default();
        let rows = self.of(parameter).last().map_or(0, |piece| piece.rows.end);
        dims.iter_mut().take(1).for_each(|first| *first = rows);
        dims
    }

    /// The pieces of a parameter, in the order of their rows.
    pub fn of<'a>(&'a self, parameter: &'a str) -> impl Iterator<Item = &'a Piece> {
        self.pieces.iter().filter(move |piece| piece.parameter == parameter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_on_each_other_and_are_the_whole_parameter() {
        let shapes: [&[usize]; 8] =
            [&[], &[1], &[0, 4], &[10], &[100_003], &[129, 300], &[3, 50_000], &[20_000, 7, 2]];
        let names: Vec<_> = (0..shapes.len()).map(|k| format!("p{k}")).collect();
        for servers in 1..=16 {
            let placed = names.iter().zip(shapes);
            let placed = placed.map(|(name, dims)| Placed { name, dtype: DType::F32, dims });
            let placement = Placement::new(placed, NonZero::new(servers).unwrap(), false);
            for (name, dims) in names.iter().zip(shapes) {
                let pieces: Vec<_> = placement.of(name).collect();
                let rows = dims.first().copied().unwrap_or(1);
                assert_eq!((pieces[0].rows.start, pieces[pieces.len() - 1].rows.end), (0, rows));
                assert!(pieces.windows(2).all(|pair| pair[0].rows.end == pair[1].rows.start));
                assert!(
                    pieces.len() <= servers as usize && pieces.iter().all(|piece| piece.server < servers)
                );
                let elements: usize = pieces.iter().map(|piece| piece.elements()).sum();
                assert_eq!(elements, dims.iter().product::<usize>());
            }
        }
    }

    #[test]
    fn servers_have_alike_many_elements() {
        let dims = [1000, 64];
        let names: Vec<_> = (0..12).map(|k| format!("p{k}")).collect();
        let placed = || names.iter().map(|name| Placed { name, dtype: DType::F32, dims: &dims });
        for whole in [true, false] {
            let placement = Placement::new(placed(), NonZero::new(3).unwrap(), whole);
            let load = |server| {
                let own = placement.pieces().iter().filter(|piece| piece.server == server);
                own.map(Piece::elements).sum::<usize>()
            };
            let loads = [load(0), load(1), load(2)];
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            assert!(most - least <= 64 * 12, "{loads:?}");
        }
    }
}
