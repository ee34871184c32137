//! Sizes and shapes, as values where they are no numbers.

use std::cell::RefCell;

use super::graph::Writer;
use crate::convert::export::LegaliseError;
use crate::program::{Arithmetic, Dim, RowOrigin, RowsId, SymbolId, Type};
use crate::wire::onnx::AttributeProto;

impl Writer<'_> {
    /// A size, in one dimension.
    pub(super) fn size(&mut self, dim: &Dim) -> Result<String, LegaliseError> {
        if let Some(size) = dim.constant() {
            return Ok(self.ints(&[size]));
        }
        let sizes = Sizes(RefCell::new(self));
        let found = dim.compute(&sizes);
        match found {
            Some(name) => Ok(name),
            None => {
                let size = self.program.show_dim(dim);
                self.refuse(format!("nothing that is exported has the size {size}"))
            }
        }
    }

    /// The value of a symbol, in one dimension, if a value has a dimension of that size.
    fn symbol(&mut self, symbol: SymbolId) -> Option<String> {
        // What is inner hides what is around it.
        for at in (0..self.scopes.len()).rev() {
            if let Some(size) = self.scopes[at].sizes.get(&symbol) {
                return Some(size.clone());
            }
            if let Some((of, axis)) = self.scopes[at].holders.get(&symbol).cloned() {
                return Some(self.noted(symbol, |writer| {
                    let bounds = [AttributeProto::int("start", axis), AttributeProto::int("end", axis + 1)];
                    writer.node_with("Shape", &[&of], bounds)
                }));
            }
        }
        let spaces = self.program.row_spaces();
        let rows = spaces.iter().position(|rows| rows.size == symbol).map(|at| RowsId(at as u32))?;
        if let RowOrigin::Fixed(count) = self.program.row_space(rows).origin {
            return Some(self.ints(&[count.into()]));
        }
        let stored = self.program.before_loops(rows);
        if stored != rows {
            return self.symbol(self.program.row_space(stored).size);
        }
        let count = self.counted(rows)?;
        Some(self.noted(symbol, |_| count))
    }

    fn noted(&mut self, symbol: SymbolId, size: impl FnOnce(&mut Self) -> String) -> String {
        let size = size(self);
        if let Some(scope) = self.scopes.last_mut() {
            scope.sizes.insert(symbol, size.clone());
        }
        size
    }

    /// The number of rows, in one dimension.
    pub(super) fn count(&mut self, rows: RowsId) -> Result<String, LegaliseError> {
        self.size(&Dim::symbol(self.program.row_space(rows).size))
    }

    /// The number of rows, without dimensions.
    pub(super) fn count_scalar(&mut self, rows: RowsId) -> Result<String, LegaliseError> {
        let (count, none) = (self.count(rows)?, self.ints(&[]));
        Ok(self.node("Reshape", &[&count, &none]))
    }

    /// The shape of a type.
    pub(super) fn shape(&mut self, ty: &Type) -> Result<String, LegaliseError> {
        let dims = self.program.shape(ty);
        self.shape_of(&dims)
    }

    /// A shape of these sizes.
    pub(super) fn shape_of(&mut self, dims: &[Dim]) -> Result<String, LegaliseError> {
        if let Some(numbers) = dims.iter().map(|dim| dim.constant()).collect::<Option<Vec<i64>>>() {
            return Ok(self.ints(&numbers));
        }
        let mut parts = Vec::with_capacity(dims.len());
        for dim in dims {
            parts.push(self.size(dim)?);
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Ok(match parts[..] {
            [one] => one.to_string(),
            _ => self.node_with("Concat", &parts, [AttributeProto::int("axis", 0)]),
        })
    }

    /// The elements of a value in another shape.
    pub(super) fn reshaped(&mut self, x: &str, to: &Type) -> Result<String, LegaliseError> {
        let dims = self.program.shape(to);
        self.reshaped_to(x, &dims)
    }

    /// The elements of a value in a shape of these sizes.
    pub(super) fn reshaped_to(&mut self, x: &str, dims: &[Dim]) -> Result<String, LegaliseError> {
        let constants: Option<Vec<i64>> = dims.iter().map(|dim| dim.constant()).collect();
        let unknown = dims.iter().filter(|dim| dim.constant().is_none()).count();
        let is_nothing = dims.contains(&Dim::from(0));
        // One size that is unknown follows from the others, so nothing has to be computed.
        let shape = match constants {
            None if unknown == 1 && !is_nothing => {
                let sizes: Vec<i64> = dims.iter().map(|dim| dim.constant().unwrap_or(-1)).collect();
                self.ints(&sizes)
            }
            _ => self.shape_of(dims)?,
        };
        Ok(self.node_with("Reshape", &[x, &shape], [AttributeProto::int("allowzero", 1)]))
    }

    /// The elements of a value in one dimension.
    pub(super) fn flat(&mut self, x: &str) -> String {
        let all = self.ints(&[-1]);
        self.node("Reshape", &[x, &all])
    }

    /// The numbers from 0 to below a number, which has no dimensions.
    pub(super) fn numbers_below(&mut self, count: &str) -> String {
        let [zero, one] = [0, 1].map(|number| self.int(number));
        self.node("Range", &[&zero, count, &one])
    }

    /// A value with dimensions of size 1 at these places of the result.
    pub(super) fn unsqueezed(&mut self, x: &str, axes: &[i64]) -> String {
        let axes = self.ints(axes);
        self.node("Unsqueeze", &[x, &axes])
    }
}

/// Arithmetic on sizes that are values of one dimension.
struct Sizes<'w, 'a>(RefCell<&'w mut Writer<'a>>);

impl Sizes<'_, '_> {
    fn both(&self, op: &str, a: &str, b: &str) -> Option<String> {
        Some(self.0.borrow_mut().node(op, &[a, b]))
    }
}

impl Arithmetic for Sizes<'_, '_> {
    type Size = String;

    fn number(&self, value: i64) -> Option<String> {
        Some(self.0.borrow_mut().ints(&[value]))
    }

    fn symbol(&self, symbol: SymbolId) -> Option<String> {
        self.0.borrow_mut().symbol(symbol)
    }

    fn add(&self, a: String, b: String) -> Option<String> {
        self.both("Add", &a, &b)
    }

    fn multiply(&self, a: String, b: String) -> Option<String> {
        self.both("Mul", &a, &b)
    }

    // Sizes and divisors are not negative, so rounding towards 0 is rounding down.
    fn floor_div(&self, a: String, b: String) -> Option<String> {
        self.both("Div", &a, &b)
    }
}
