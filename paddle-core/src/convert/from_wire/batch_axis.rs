//! Operators whose rules do not fit values with rows, which are read with the batch as an ordinary axis.

use super::operator::Reading;
use super::rules::Rule;
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
        if !does_not_fit || !self.merge_rows()? {
            return result;
        }
        let lack = self.lack.take();
        match rule(self) {
            Ok(true) => Ok(true),
            _ => {
                self.reader.take_back(before);
                (self.lack, self.merges) = (lack, false);
                result
            }
        }
    }

    /// From now on, values with the rows of the batch are read with the batch as their first axis. False if no input has
    /// such rows.
    fn merge_rows(&mut self) -> Result<bool, Fault> {
        for name in self.desc.inputs.iter().flat_map(|slot| &slot.arguments) {
            let Ok(value) = self.read(name) else { continue };
            self.merges |= self.at().merge(value)?;
        }
        Ok(self.merges)
    }
}
