//! `to_device`, `send_value` and `receive_value`: where a network is cut into parts for several machines.

use super::send::EXCHANGES;
use super::{
    AccuracyClass, Effects, Gradient, GradientError, Infer, Linear, Mismatch, MismatchKind, Operation,
    Sample, Schema, Slot,
};
use crate::program::{DType, Type, VarId};

/// There are not more devices.
const MOST_DEVICES: i64 = 1 << 16;

/// Brings `X`, of any type, to a device. What is computed from it is computed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToDevice {
    /// The number of the device.
    pub device: i64,
    /// Where `X` is; it counts once the program is [placed](crate::passes::distribute).
    pub from: i64,
}

/// Gives a value to the machine that has another device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendValue {
    /// The name of the value.
    pub value: String,
    /// The number of the device.
    pub to: i64,
}

/// A value from the machine that has another device. If it has rows, they are those of `Like`.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiveValue {
    /// The name of the value.
    pub value: String,
    /// The number of the device.
    pub from: i64,
    /// The type of the value, without its rows.
    pub ty: Type,
}

attributes!(ToDevice { device = 0, from = 0 });
attributes!(SendValue { value = String::new(), to = 0 });
attributes!(ReceiveValue { value = String::new(), from = 0, ty: Type::scalar(DType::F32) });

impl Operation for ToDevice {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "to_device",
                doc: "x, on another device.",
                inputs: &[Slot::of("X")],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                // Not element-wise, so layouts end here, as they do where a value is sent: bits do not depend on where it goes.
                effects: Effects { linear: Linear::In(&[0]), same_elements: true, ..Effects::ROW_WISE },
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        match [self.device, self.from].iter().all(|number| (0..MOST_DEVICES).contains(number)) {
            true => Ok(vec![cx.ty(0).clone()]),
            false => {
                let message =
                    format!("device {}: they have the numbers from 0 to {}", self.device, MOST_DEVICES - 1);
                Err(cx.fail(MismatchKind::Attribute, message))
            }
        }
    }

    fn gradient(&self, g: &mut Gradient<'_>) -> Result<Vec<Option<VarId>>, GradientError> {
        let grad = g.grad(0)?;
        Ok(vec![Some(g.emit(ToDevice { device: self.from, from: self.device }, &[grad])?)])
    }

    #[inline]
    fn samples() -> Vec<Sample> {
        let op = || Sample::of(ToDevice { device: 1, from: 0 });
        vec![op().rows(3, &[2]), op().rows(0, &[2]), op().dense(&[])]
    }
}

impl Operation for SendValue {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "send_value",
                doc: "x, sent to another device.",
                inputs: &[Slot::of("X")],
                outputs: &[],
                accuracy: AccuracyClass::MOVED,
                effects: EXCHANGES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, _: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        Ok(Vec::new())
    }
}

impl Operation for ReceiveValue {
    fn schema(&self) -> &'static Schema {
        const {
            &Schema {
                name: "receive_value",
                doc: "A value from another device.",
                inputs: &[Slot::of("Like").shape_only().variadic()],
                outputs: &[Slot::of("Out")],
                accuracy: AccuracyClass::MOVED,
                effects: EXCHANGES,
            }
        }
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn infer(&self, cx: &Infer<'_>) -> Result<Vec<Type>, Mismatch> {
        let rows = cx.types.first().and_then(|like| like.rows);
        Ok(vec![Type { rows, ..self.ty.clone() }])
    }
}
