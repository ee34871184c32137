//! Parts of values: `pair.0`, `xs[i]`, `x[(.., 0, 1..3)]`; and of outside arrays, `crate::SIZES[i]`.

use paddle_core::layers::Given;
use paddle_core::ops::{Number, Reshape, Slice};
use paddle_core::program::{DType, Type, VarId};
use proc_macro2::{Literal, Span, TokenStream};
use quote::quote_spanned;

use super::Lowering;
use super::outside_constants::spread;
use crate::ast::{Expr, ExprKind, OutsideSize, Place, PlaceKind, SizeOrigin};
use crate::messages::Message;
use crate::report::Extent;
use crate::values::{Constant, Value};

/// The name of the layer in programs and messages.
const CUT: &str = "[..]";

/// The elements that are taken along one axis.
enum Taken<'a> {
    All,
    One(i64),
    /// From a start to an end; without an end, to the end of the axis.
    Range(i64, Option<i64>),
    /// The elements at positions that are a value of the network.
    Gathered(VarId, &'a Expr),
}

impl<'a> Lowering<'a, '_> {
    /// Lowers `pair.0`, a part of a tuple.
    pub(super) fn part(&mut self, x: &'a Expr, at: usize) -> Value<'a> {
        if let Some(place) = self.outside_place(x) {
            let size = place.map(|place| self.outside(&part_of(&place, at)));
            return size.map_or(Value::Unknown, Value::Size);
        }
        let found = match self.expr(x) {
            Value::Tuple(mut parts) if at < parts.len() => return parts.swap_remove(at),
            Value::Unknown => return Value::Unknown,
            Value::Unassigned => {
                self.unassigned(x.at, x.words().trim_matches('`').to_string());
                return Value::Unknown;
            }
            Value::Tuple(parts) => format!("a tuple of {}, numbered from 0", parts.len()),
            value => self.describe(&value),
        };
        self.error(x.at, Message::Tuple { found, expected: format!("`.{at}` takes a part of a tuple") });
        Value::Unknown
    }

    /// Lowers `x[i]`.
    pub(super) fn index(&mut self, x: &'a Expr, index: &'a Expr) -> Value<'a> {
        if let Some(place) = self.outside_place(x) {
            let element = place.and_then(|place| self.outside_element(&place, index));
            return element.map_or(Value::Unknown, |element| Value::Size(self.outside(&element)));
        }
        match spread(self.expr(x)) {
            Value::Array(mut parts) => match self.place_in_array(index, parts.len()) {
                Some(at) => parts.swap_remove(at),
                None => Value::Unknown,
            },
            Value::Var(var) => match self.taken(index) {
                Some(taken) => self.cut_value(x, var, &[(taken, index.at)]),
                None => Value::Unknown,
            },
            found => self.no_parts(x, &found),
        }
    }

    /// Lowers `x[1..3]` and `x[(.., 0)]`.
    pub(super) fn cut(&mut self, x: &'a Expr, places: &'a [Place]) -> Value<'a> {
        let found = spread(self.expr(x));
        let taken: Vec<_> = places.iter().map(|place| Some((self.place(place)?, place.at))).collect();
        let Some(taken) = taken.into_iter().collect::<Option<Vec<_>>>() else { return Value::Unknown };
        match (found, &taken[..]) {
            (Value::Array(parts), [(Taken::All, _)]) => Value::Array(parts),
            (Value::Array(parts), [(Taken::Range(start, end), at)]) => {
                let length = parts.len();
                match inside(*start, *end, length as i64) {
                    Some((start, end)) => Value::Array(parts[start as usize..end as usize].to_vec()),
                    None => self.constant_error(
                        *at,
                        format!("the array has {length} elements, and not these places"),
                    ),
                }
            }
            (Value::Var(var), taken) => self.cut_value(x, var, taken),
            (array @ Value::Array(_), taken) => match self.materialize(&array, x.at) {
                Some(var) => self.cut_value(x, var, taken),
                None => Value::Unknown,
            },
            (found, _) => self.no_parts(x, &found),
        }
    }

    fn no_parts(&mut self, x: &Expr, found: &Value<'a>) -> Value<'a> {
        if found.is_unknown() {
            return Value::Unknown;
        }
        let instead = match found {
            Value::Tuple(_) => "the parts of a tuple are `pair.0`, or `let (a, b) = ..`",
            _ => "parts are taken of arrays, and of values along their axes, `x[(.., 0)]`",
        };
        let found = format!("{} is {}", x.words(), self.describe(found));
        self.error(x.at, Message::Static { what: "what is indexed".into(), found, instead: instead.into() });
        Value::Unknown
    }

    /// The index of an element of an array.
    fn place_in_array(&mut self, index: &'a Expr, length: usize) -> Option<usize> {
        match self.taken(index)? {
            Taken::One(at) => {
                let place = usize::try_from(at).ok().filter(|&at| at < length);
                if place.is_none() {
                    let why = format!("the array has {length} elements, and none at `{at}`");
                    self.constant_error(index.at, why);
                }
                place
            }
            Taken::All | Taken::Range(..) => None,
            Taken::Gathered(var, _) => {
                let found = format!("{} is {}", index.words(), self.show(self.program.ty(var)));
                let instead = "write a number or a `const`".to_string();
                self.error(index.at, Message::Static { what: "an index".into(), found, instead });
                None
            }
        }
    }

    fn place(&mut self, place: &'a Place) -> Option<Taken<'a>> {
        match &place.kind {
            PlaceKind::All => Some(Taken::All),
            PlaceKind::One(index) => self.taken(index),
            PlaceKind::Range { start, end, inclusive } => {
                let start = match start {
                    Some(start) => self.whole(start)?,
                    None => 0,
                };
                let end = match end {
                    Some(end) => Some(self.whole(end)?),
                    None => None,
                };
                // The end of a range is exclusive.
                let end = if *inclusive {
                    end.filter(|end| *end != -1).map(|end| end.saturating_add(1))
                } else {
                    end
                };
                Some(Taken::Range(start, end))
            }
        }
    }

    /// An integer that is known at compile time.
    fn whole(&mut self, expr: &'a Expr) -> Option<i64> {
        match self.taken(expr)? {
            Taken::One(at) => Some(at),
            _ => {
                let found = format!("{} is a value of the network", expr.words());
                let instead =
                    "write a number or a `const`; what numbers of the network say is taken by `gather`";
                let what = "where a part begins and ends".to_string();
                self.error(expr.at, Message::Static { what, found, instead: instead.into() });
                None
            }
        }
    }

    fn taken(&mut self, index: &'a Expr) -> Option<Taken<'a>> {
        let found = match self.expr(index) {
            Value::Constant(Constant { number: Number::Int(at), .. }) => return Some(Taken::One(at)),
            Value::Var(var) if self.program.ty(var).dtype == DType::Bool => {
                let (words, found) = (index.words(), self.show(self.program.ty(var)));
                let text = format!(
                    "{words} is {found}, but places are whole numbers; rows are chosen by `if`, tokens by `sequence_filter`, \
                     and elements by `select`"
                );
                self.error(index.at, Message::ElementType { text });
                return None;
            }
            Value::Var(var) if !self.program.ty(var).dtype.is_float() => {
                return self.localize(var, index.at.start).map(|var| Taken::Gathered(var, index));
            }
            Value::Size(size) => {
                self.undecided(&size, index.at);
                return None;
            }
            Value::Unknown | Value::Unassigned => return None,
            found => self.describe(&found),
        };
        let why = format!("places are whole numbers, but {} is {found}", index.words());
        self.constant_error(index.at, why);
        None
    }

    /// Takes a part of a value of the network.
    fn cut_value(&mut self, x: &Expr, var: VarId, taken: &[(Taken<'a>, Extent)]) -> Value<'a> {
        let Some(var) = self.localize(var, x.at.start) else { return Value::Unknown };
        let ty = self.program.ty(var).clone();
        let Some(slice) = self.slice(x, &ty, taken) else { return Value::Unknown };
        let (mut value, site) = (Value::Var(var), x.at.start);
        if !slice.axes.is_empty() {
            value = self.append(slice, CUT.into(), site, &[(var, x)]);
        }
        let is_gone = |axis: usize| matches!(taken.get(axis), Some((Taken::One(_), _)));
        if let (Value::Var(cut), true) = (&value, (0..taken.len()).any(is_gone)) {
            let rows = usize::from(ty.rows.is_some());
            let dims = self.program.ty(*cut).dims.iter().enumerate();
            let dims = dims.filter(|(at, _)| !is_gone(at + rows)).map(|(_, dim)| dim.clone()).collect();
            value = self.append(Reshape { dims }, CUT.into(), site, &[(*cut, x)]);
        }
        let gathered = taken.iter().enumerate().find_map(|(axis, (taken, _))| match taken {
            Taken::Gathered(index, written) => Some((axis, *index, *written)),
            _ => None,
        });
        let (Some((axis, index, written)), Value::Var(from)) = (gathered, &value) else { return value };
        // Axes that were removed before this one shift it.
        let gone = (0..axis).filter(|&before| is_gone(before)).count();
        let arguments = vec![
            ("x", Given::Value(*from), x),
            ("index", Given::Value(index), written),
            ("axis", Given::Int((axis - gone) as i64), written),
        ];
        self.with_layer("gather", arguments, written.at).map_or(Value::Unknown, Value::Var)
    }

    /// The slice that takes the numbers and ranges of `taken` from a value of this type; `None` if a mistake has been
    /// reported.
    fn slice(&mut self, x: &Expr, ty: &Type, taken: &[(Taken<'a>, Extent)]) -> Option<Slice> {
        self.check_axes(x, ty, taken)?;
        let rows = usize::from(ty.rows.is_some());
        let mut slice = Slice::of(Vec::new(), Vec::new(), Vec::new());
        for (axis, (taken, at)) in taken.iter().enumerate().skip(rows) {
            let (start, end) = match taken {
                Taken::One(place) => (*place, Some(place.saturating_add(1)).filter(|end| *end != 0)),
                Taken::Range(start, end) => (*start, *end),
                Taken::All | Taken::Gathered(..) => continue,
            };
            let size = &ty.dims[axis - rows];
            let bounds = match size.constant() {
                Some(size) => inside(start, end, size),
                // A range that may be out of bounds becomes a check.
                None => Some((start, end.unwrap_or(i64::from(i32::MAX)))),
            };
            let Some((start, end)) = bounds else {
                let (found, size) = (self.show(ty), self.program.show_dim(size));
                let what = match taken {
                    Taken::One(place) => format!("none at {place}"),
                    _ => "not these".to_string(),
                };
                let text = format!(
                    "{} is {found}, with {size} elements along this axis, numbered from 0, and {what}",
                    x.words()
                );
                self.error(*at, Message::Shape { text });
                return None;
            };
            slice.axes.push(axis as i64);
            slice.starts.push(start);
            slice.ends.push(end);
        }
        Some(slice)
    }

    /// Checks that a value of this type has these axes; `None` if a mistake has been reported.
    fn check_axes(&mut self, x: &Expr, ty: &Type, taken: &[(Taken<'a>, Extent)]) -> Option<()> {
        let (found, words) = (self.show(ty), x.words());
        if let Some((_, at)) = taken.get(ty.rank()) {
            let text =
                format!("{words} is {found}, which has {} axes, but here are {}", ty.rank(), taken.len());
            self.error(*at, Message::Shape { text });
            return None;
        }
        if let (Some(_), [(first, at), ..]) = (ty.rows, taken)
            && !matches!(first, Taken::All)
        {
            let text = match self.program.is_sequence(ty) {
                true => format!(
                    "{words} is {found}, whose tokens are not taken by number; the first of each sequence is \
                     `sequence_pool(x, first)`, some are `sequence_slice(x, 0, 2)`, and parts of all tokens `x[(.., 0)]`"
                ),
                false => format!(
                    "{words} is {found}, and its first axis is that of the rows, each of which is computed by itself; \
                     write `..` for it: `x[(.., 0)]`"
                ),
            };
            self.error(*at, Message::Shape { text });
            return None;
        }
        let mut gathered = taken.iter().filter(|(taken, _)| matches!(taken, Taken::Gathered(..)));
        if let (Some(_), Some((_, at))) = (gathered.next(), gathered.next()) {
            let what = "numbers of the network for two axes at once".to_string();
            let instead = "take one after the other: `x[(.., rows)][(.., .., columns)]`".to_string();
            self.error(*at, Message::NotSupported { what, instead });
            return None;
        }
        Some(())
    }

    /// The outside size at an element of an outside array or tuple. The outer `None` means that the expression is no
    /// such element; the inner one, that a mistake has been reported.
    pub(super) fn outside_place(&mut self, expr: &'a Expr) -> Option<Option<OutsideSize>> {
        match &expr.kind {
            ExprKind::Outside(size) => Some(Some(size.clone())),
            ExprKind::Paren(inner) => self.outside_place(inner),
            ExprKind::Part { x, at } => Some(self.outside_place(x)?.map(|place| part_of(&place, *at))),
            ExprKind::Index { x, index } => {
                let place = self.outside_place(x)?;
                Some(place.and_then(|place| self.outside_element(&place, index)))
            }
            _ => None,
        }
    }

    fn outside_element(&mut self, array: &OutsideSize, index: &'a Expr) -> Option<OutsideSize> {
        let at = match self.taken(index)? {
            Taken::One(at) if at >= 0 => at as usize,
            Taken::One(at) => {
                self.constant_error(index.at, format!("places are counted from 0, but this is {at}"));
                return None;
            }
            _ => {
                let found = format!("{} is a value of the network", index.words());
                let instead = "write a number or a `const`".to_string();
                self.error(index.at, Message::Static { what: "an index".into(), found, instead });
                return None;
            }
        };
        if !matches!(array.origin, SizeOrigin::Path(_)) {
            let text = format!("`{}` is a size, not an array", array.name);
            self.error(index.at, Message::Constant { text });
            return None;
        }
        Some(element_of(array, at))
    }
}

/// The span for code behind a path. rustc shows its errors there.
fn end(path: &TokenStream) -> Span {
    path.clone().into_iter().last().map_or_else(Span::call_site, |token| token.span())
}

/// The length of an outside array.
pub(super) fn length_of(array: &OutsideSize) -> OutsideSize {
    let origin = match &array.origin {
        SizeOrigin::Path(path) => SizeOrigin::Path(quote_spanned!(end(path)=> #path.len())),
        origin => origin.clone(),
    };
    OutsideSize { name: format!("{}.len()", array.name), unit: array.unit, origin }
}

/// An element of an outside array.
pub(super) fn element_of(array: &OutsideSize, at: usize) -> OutsideSize {
    let origin = match &array.origin {
        SizeOrigin::Path(path) => {
            let mut place = Literal::usize_unsuffixed(at);
            place.set_span(end(path));
            SizeOrigin::Path(quote_spanned!(end(path)=> #path[#place]))
        }
        origin => origin.clone(),
    };
    OutsideSize { name: format!("{}[{at}]", array.name), unit: array.unit, origin }
}

/// A part of an outside tuple.
pub(super) fn part_of(tuple: &OutsideSize, at: usize) -> OutsideSize {
    let origin = match &tuple.origin {
        SizeOrigin::Path(path) => {
            let at = syn::Index { index: at as u32, span: end(path) };
            SizeOrigin::Path(quote_spanned!(end(path)=> #path.#at))
        }
        origin => origin.clone(),
    };
    OutsideSize { name: format!("{}.{at}", tuple.name), unit: tuple.unit, origin }
}

/// The range as positions from the start; `None` if it is empty or out of bounds. `size` is the number of elements.
fn inside(start: i64, end: Option<i64>, size: i64) -> Option<(i64, i64)> {
    let from_start = |bound: i64| if bound < 0 { bound + size } else { bound };
    let (start, end) = (from_start(start), end.map_or(size, from_start));
    (0 <= start && start < end && end <= size).then_some((start, end))
}
