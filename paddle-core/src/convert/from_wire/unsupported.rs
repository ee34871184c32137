//! What a program has that is not supported, all of it at once.
//!
//! [`load`] goes on behind an operator that is not supported. What such an operator writes is unknown, and operators that
//! read it are passed over in silence, but for those of unknown types.

use std::fmt;

use super::rules::is_known;
use super::{Reader, Reading, place};
use crate::convert::budget::MEMORY;
use crate::convert::carried;
use crate::convert::dialect::{CALLSTACK, OURS, ROLE, ROLE_VAR, TYPES};
use crate::convert::error::{ConvertError, Fault};
use crate::convert::from_pir::decode_program;
use crate::convert::ours::{from_ours, is_ours};
use crate::ops::Program;
use crate::wire::{AttrType, OpAttr, OpDesc, ProgramDesc, WireError};

/// Everything in a program that is not supported, in the order in which it was found.
///
/// ```
/// use paddle_core::convert::load;
/// use paddle_core::wire::{BlockDesc, OpDesc, ProgramDesc};
///
/// let ops = vec![OpDesc::new("psroi_pool"), OpDesc::new("fusion_lstm")];
/// let block = BlockDesc { parent_idx: -1, ops, ..BlockDesc::default() };
/// let program = ProgramDesc { blocks: vec![block], ..ProgramDesc::default() };
/// let unsupported = load(&program).unwrap_err();
/// assert_eq!(unsupported.faults.len(), 2);
/// assert_eq!(
///     unsupported.to_string(),
///     "the program cannot be run, for 2 reasons:\n\
///      - block 0, operator 0 `psroi_pool`: there is no such operator here\n\
///      - block 0, operator 1 `fusion_lstm`: there is no such operator here"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Unsupported {
    /// The faults, at least one: each with its operator and block, where it has one.
    pub faults: Vec<ConvertError>,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.faults[..] {
            [only] => write!(f, "the program cannot be run: {only}"),
            faults => {
                write!(f, "the program cannot be run, for {} reasons:", faults.len())?;
                faults.iter().try_for_each(|fault| write!(f, "\n- {fault}"))
            }
        }
    }
}

impl std::error::Error for Unsupported {}

impl From<ConvertError> for Unsupported {
    fn from(fault: ConvertError) -> Self {
        Unsupported { faults: vec![fault] }
    }
}

impl From<WireError> for Unsupported {
    fn from(error: WireError) -> Self {
        ConvertError::from(error).into()
    }
}

/// Reads a program of which everything can run. [`from_wire`](super::from_wire) also reads others: it keeps operators
/// that it does not know.
///
/// # Errors
/// All operators, attributes and types that are not supported, each with its place.
pub fn load(program: &ProgramDesc) -> Result<Program, Unsupported> {
    load_for(program, None, false)
}

/// Reads a program like [`load`], but as one that can be trained: normalisation that was saved for inference computes
/// statistics of a batch and moves those that are kept, and dropout drops. [`test_mode`](crate::passes::test_mode) makes
/// of it what was saved. A program in our own dialect says what it does, and is read as it is.
///
/// # Errors
/// Those of [`load`].
pub fn load_to_train(program: &ProgramDesc) -> Result<Program, Unsupported> {
    load_for(program, None, true)
}

/// Reads the forward part of a recorded training.
#[cfg(feature = "convert")]
pub(in crate::convert) fn load_recorded_forward(
    program: &ProgramDesc,
    startup: Option<&ProgramDesc>,
) -> Result<Program, Unsupported> {
    load_for(program, startup, true)
}

fn load_for(
    program: &ProgramDesc,
    startup: Option<&ProgramDesc>,
    trains: bool,
) -> Result<Program, Unsupported> {
    if is_ours(program) {
        let faults = kept(program);
        return if faults.is_empty() {
            Ok(from_ours(program, startup)?)
        } else {
            Err(Unsupported { faults })
        };
    }
    if let Some(own) = carried::by(program)
        && kept(&own).is_empty()
        && let Ok(own) = from_ours(&own, startup)
    {
        return Ok(own);
    }
    let mut reader = Reader::new(program, MEMORY)?;
    reader.trains = trains;
    reader.found = Some(Vec::new());
    let result = reader.read(startup);
    let mut faults = reader.found.unwrap_or_default();
    match result {
        Ok(()) if faults.is_empty() => return Ok(reader.draft.program),
        // What follows from other faults is none of its own.
        Err(ConvertError { fault: Fault::Unread { .. }, .. }) if !faults.is_empty() => {}
        Err(error) => faults.push(error),
        Ok(()) => {}
    }
    Err(Unsupported { faults })
}

/// The operators of a program in our dialect that came from elsewhere, and are not supported.
fn kept(program: &ProgramDesc) -> Vec<ConvertError> {
    let blocks = program.blocks.iter().enumerate();
    let ops =
        blocks.flat_map(|(block, desc)| desc.ops.iter().enumerate().map(move |(at, op)| (block, at, op)));
    let kept = ops.filter(|(_, _, op)| op.attr(TYPES).is_some());
    kept.map(|(block, at, op)| place(Fault::Unsupported, block, at, op)).collect()
}

impl Program {
    /// Reads a model that PaddlePaddle's `save_inference_model` or `jit.save` wrote: the bytes of its `.pdmodel` or `.json`.
    ///
    /// Parameters are zeros at first; [`load_params`](crate::convert::load_params) reads their values.
    ///
    /// # Errors
    /// All operators, attributes and types that are not supported, each with its place; or what the bytes are instead of
    /// a program.
    ///
    /// ```
    /// use paddle_core::convert::to_wire;
    /// use paddle_core::ops::Program;
    /// use paddle_core::text;
    ///
    /// let source = "program {\n  block 0 (x: f32[2]) {\n    y: f32[2] = relu(x)\n    return y\n  }\n}\n";
    /// let bytes = to_wire(&text::parse(source)?).main.encode_to_vec();
    /// assert_eq!(Program::load(&bytes)?.to_string(), source);
    /// let error = Program::load(&bytes[..9]).unwrap_err();
    /// assert!(error.to_string().starts_with("the program cannot be run: "), "{error}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(pdmodel: &[u8]) -> Result<Program, Unsupported> {
        load(&decode_program(pdmodel)?)
    }
}

impl<'a> Reader<'a> {
    /// Goes on behind a fault if all of them are collected. The variables that this would have written are unknown then.
    pub(super) fn go_on(
        &mut self,
        fault: ConvertError,
        block: usize,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), ConvertError> {
        let Some(found) = &mut self.found else { return Err(fault) };
        // What has no memory now has none for what follows, either.
        if fault.fault == Fault::Memory {
            return Err(fault);
        }
        if !matches!(fault.fault, Fault::Unread { .. }) {
            found.push(fault);
        }
        names.into_iter().for_each(|name| self.versions.forget(&self.blocks, block, name));
        Ok(())
    }

    /// Goes on behind a fault of an operator. If it could not be read because of another one, its type is still looked
    /// at, and so are those of the operators in its blocks.
    pub(super) fn go_on_behind(
        &mut self,
        fault: ConvertError,
        block: usize,
        op: &'a OpDesc,
    ) -> Result<(), ConvertError> {
        if let (Some(found), Fault::Unread { .. }) = (&mut self.found, &fault.fault) {
            let at = fault.place.as_ref().map_or(0, |place| place.operator);
            let mut left = vec![(block, at, op)];
            while let Some((block, at, op)) = left.pop() {
                if !is_known(&op.r#type) && !matches!(op.r#type.as_str(), "feed" | "fetch") {
                    found.push(place(Fault::Unsupported, block, at, op));
                }
                for attr in op.attrs.iter().filter(|attr| attr.r#type == i32::from(AttrType::Block)) {
                    // A block that was entered has been read, and one that comes before this one does not belong to it.
                    let inside = attr.block_idx.and_then(|index| usize::try_from(index).ok());
                    let inside = inside.filter(|&inside| inside > block && inside < self.blocks.len());
                    let Some(inside) = inside.filter(|&inside| self.versions.id(inside).is_none()) else {
                        continue;
                    };
                    let ops = self.blocks[inside].desc.ops.iter().enumerate();
                    left.extend(ops.rev().map(|(at, op)| (inside, at, op)));
                }
            }
        }
        let outputs = op.outputs.iter().flat_map(|slot| &slot.arguments).map(String::as_str);
        self.go_on(fault, block, outputs)
    }
}

impl Reading<'_, '_> {
    /// The fault of an operator that has no rule, or a form that its rule does not know.
    pub(super) fn unsupported(&self) -> Fault {
        if !is_known(&self.desc.r#type) {
            return Fault::Unsupported;
        }
        if let Some(reason) = self.lack {
            return Fault::Form { message: reason.to_string() };
        }
        let types = self.desc.inputs.iter().flat_map(|slot| {
            let of_slot = slot.arguments.iter().filter_map(|name| self.read(name).ok());
            of_slot
                .map(|var| format!("{} is {}", slot.parameter, self.reader.draft.program.show(self.ty(var))))
        });
        let is_of_form = |attr: &&OpAttr| {
            ![ROLE, ROLE_VAR, CALLSTACK].contains(&attr.name.as_str())
                && !attr.name.starts_with(OURS)
                && !EVERYWHERE.contains(&attr.name.as_str())
        };
        let attributes = self.desc.attrs.iter().filter(is_of_form);
        let attributes = attributes.map(|attr| format!("{} = {}", attr.name, Shown(attr)));
        let parts: Vec<String> = types.chain(attributes).collect();
        Fault::Form { message: format!("this form of it is not supported: {}", parts.join(", ")) }
    }
}

/// Attributes that any operator may have, and that say nothing about what it computes.
const EVERYWHERE: [&str; 4] = ["op_namescope", "op_device", "with_quant_attr", "use_mkldnn"];

/// The most elements of a list that a message shows.
const SHOWN: usize = 8;

/// The value of an attribute, for messages.
struct Shown<'a>(&'a OpAttr);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: fmt::Debug>(f: &mut fmt::Formatter<'_>, values: &[T]) -> fmt::Result {
            let more = if values.len() > SHOWN { ", …" } else { "" };
            let shown: Vec<String> = values.iter().take(SHOWN).map(|value| format!("{value:?}")).collect();
            write!(f, "[{}{more}]", shown.join(", "))
        }
        let attr = self.0;
        match AttrType::try_from(attr.r#type) {
            Ok(AttrType::Int) => write!(f, "{}", attr.i.unwrap_or_default()),
            Ok(AttrType::Long) => write!(f, "{}", attr.l.unwrap_or_default()),
            Ok(AttrType::Float) => write!(f, "{}", attr.f.unwrap_or_default()),
            Ok(AttrType::Float64) => write!(f, "{}", attr.float64.unwrap_or_default()),
            Ok(AttrType::Boolean) => write!(f, "{}", attr.b.unwrap_or_default()),
            Ok(AttrType::String) => write!(f, "{:?}", attr.s.as_deref().unwrap_or_default()),
            Ok(AttrType::Ints) => list(f, &attr.ints),
            Ok(AttrType::Longs) => list(f, &attr.longs),
            Ok(AttrType::Floats) => list(f, &attr.floats),
            Ok(AttrType::Float64s) => list(f, &attr.float64s),
            Ok(AttrType::Booleans) => list(f, &attr.bools),
            Ok(AttrType::Strings) => list(f, &attr.strings),
            _ => f.write_str("…"),
        }
    }
}
