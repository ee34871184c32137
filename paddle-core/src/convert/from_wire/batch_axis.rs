//! Operators whose rules do not fit values with rows, which are read with the batch as an ordinary axis.

use super::operator::Reading;
use super::rules::Rule;
use crate::convert::draft::Merged;
use crate::convert::error::{ConvertError, Fault};
use crate::wire::AttrType;

impl Reading<'_, '_> {
    /// Reads the operator by its rule. If rows that stay apart do not fit it, the batch is an ordinary axis. An attempt that
    /// fails leaves nothing behind.
    pub(super) fn by_rule(&mut self, rule: Rule) -> Result<bool, ConvertError> {
        let owns_blocks = self.desc.attrs.iter().any(|attr| attr.r#type == i32::from(AttrType::Block));
        if owns_blocks {
            return rule(self);
        }
        let before = self.reader.draft.program.mark(self.id());
        let result = self.side_by_side(rule);
        if matches!(&result, Ok(true)) {
            return result;
        }
        self.reader.take_back(before);
        let does_not_fit = match &result {
            Ok(_) => true,
            Err(error) => matches!(error.fault, Fault::Build(_)),
        };
        if !does_not_fit {
            return result;
        }
        for merged in [Merged::Batch, Merged::Tokens] {
            if !self.merge_rows(merged)? {
                continue;
            }
            let lack = self.lack.take();
            if let Ok(true) = rule(self) {
                return Ok(true);
            }
            self.reader.take_back(before);
            (self.lack, self.merges) = (lack, Merged::None);
        }
        result
    }

    /// From now on, values with such rows are read with these as their first axis. False if no input has some.
    fn merge_rows(&mut self, merged: Merged) -> Result<bool, Fault> {
        let mut has_some = false;
        for name in self.desc.inputs.iter().flat_map(|slot| &slot.arguments) {
            let Ok(value) = self.read(name) else { continue };
            has_some |= self.at().merge(value, merged)?;
        }
        if has_some {
            self.merges = merged;
        }
        Ok(has_some)
    }
}
