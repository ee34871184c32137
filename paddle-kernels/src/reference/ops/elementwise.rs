//! The element-wise operators: the formulas of the core's table, one element at a time.

use paddle_core::ops::{
    Binary, BinaryKind, Cast, Compare, Logical, Loss, LossGrad, Not, Predicate, RankLoss, Select, Unary,
    UnaryGrad,
};
use paddle_core::program::DType;

use super::Evaluate;
use crate::reference::call::{Call, Results};
use crate::reference::values::Values;

impl Evaluate for Unary {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let &Unary { kind, coefficients } = self;
        let out = match call.read(0) {
            Values::F32(x) => Values::F32(x.into_iter().map(|x| kind.apply(x, coefficients)).collect()),
            Values::F64(x) => Values::F64(x.into_iter().map(|x| kind.apply(x, coefficients)).collect()),
            Values::I64(x) => Values::I64(x.into_iter().map(|x| kind.apply_int(x, coefficients)).collect()),
            Values::I32(x) => {
                // Results that do not fit wrap around, like results of 64 bits.
                Values::I32(x.into_iter().map(|x| kind.apply_int(x.into(), coefficients) as i32).collect())
            }
            x => panic!("the functions of the table are of numbers, not {}", x.dtype()),
        };
        Ok(vec![out])
    }
}

impl Evaluate for UnaryGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let &UnaryGrad { kind, coefficients } = self;
        let out = match (call.read_broadcast(0), call.read_broadcast(1)) {
            (Values::F32(saved), Values::F32(grad)) => {
                Values::F32(pairs(&saved, &grad, |saved, grad| grad * kind.derivative(saved, coefficients)))
            }
            (Values::F64(saved), Values::F64(grad)) => {
                Values::F64(pairs(&saved, &grad, |saved, grad| grad * kind.derivative(saved, coefficients)))
            }
            (saved, grad) => {
                panic!("a derivative is of one floating-point type, not {:?}", types(&saved, &grad))
            }
        };
        Ok(vec![out])
    }
}

impl Evaluate for Loss {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let &Loss { kind, coefficients } = self;
        let out = match (call.read_broadcast(0), call.read_broadcast(1)) {
            (Values::F32(x), Values::F32(label)) => {
                Values::F32(pairs(&x, &label, |x, label| kind.apply(x, label, coefficients)))
            }
            (Values::F64(x), Values::F64(label)) => {
                Values::F64(pairs(&x, &label, |x, label| kind.apply(x, label, coefficients)))
            }
            (x, label) => panic!("a loss is of one floating-point type, not {:?}", types(&x, &label)),
        };
        Ok(vec![out])
    }
}

impl Evaluate for LossGrad {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let &LossGrad { kind, coefficients } = self;
        let out = match [0, 1, 2].map(|k| call.read_broadcast(k)) {
            [Values::F32(x), Values::F32(label), Values::F32(grad)] => {
                let slopes = pairs(&x, &label, |x, label| kind.derivative(x, label, coefficients));
                Values::F32(pairs(&slopes, &grad, |slope, grad| slope * grad))
            }
            [Values::F64(x), Values::F64(label), Values::F64(grad)] => {
                let slopes = pairs(&x, &label, |x, label| kind.derivative(x, label, coefficients));
                Values::F64(pairs(&slopes, &grad, |slope, grad| slope * grad))
            }
            [x, label, _] => panic!("a loss is of one floating-point type, not {:?}", types(&x, &label)),
        };
        Ok(vec![out])
    }
}

impl Evaluate for Predicate {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let out = match call.read(0) {
            Values::F32(x) => Values::Bool(x.into_iter().map(|x| self.kind.holds(x)).collect()),
            Values::F64(x) => Values::Bool(x.into_iter().map(|x| self.kind.holds(x)).collect()),
            x => panic!("what holds of numbers is asked of floating-point ones, not {}", x.dtype()),
        };
        Ok(vec![out])
    }
}

impl Evaluate for Select {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let Values::Bool(condition) = call.read_broadcast(0) else {
            panic!("a condition is of truth values");
        };
        macro_rules! select {
            ($($type:ident),*) => {
                match (call.read_broadcast(1), call.read_broadcast(2)) {
                    $((Values::$type(x), Values::$type(y)) => {
                        let values = x.into_iter().zip(y).zip(condition);
                        Values::$type(values.map(|((x, y), holds)| if holds { x } else { y }).collect())
                    })*
                    (x, y) => panic!("two values of one type are needed, not {:?}", types(&x, &y)),
                }
            };
        }
        let out = select!(Bool, I32, I64, F32, F64);
        Ok(vec![out])
    }
}

impl Evaluate for Binary {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![arithmetic(self.kind, &call.read_broadcast(0), &call.read_broadcast(1))])
    }
}

pub(crate) fn add(x: &Values, y: &Values) -> Values {
    arithmetic(BinaryKind::Add, x, y)
}

fn arithmetic(kind: BinaryKind, x: &Values, y: &Values) -> Values {
    match (x, y) {
        (Values::F32(x), Values::F32(y)) => Values::F32(pairs(x, y, |x, y| kind.apply(x, y))),
        (Values::F64(x), Values::F64(y)) => Values::F64(pairs(x, y, |x, y| kind.apply(x, y))),
        (Values::I64(x), Values::I64(y)) => Values::I64(pairs(x, y, |x, y| kind.apply_int(x, y))),
        (Values::I32(x), Values::I32(y)) => {
            // Results that do not fit wrap around, like results of 64 bits.
            Values::I32(pairs(x, y, |x, y| kind.apply_int(i64::from(x), i64::from(y)) as i32))
        }
        (x, y) => panic!("arithmetic is on numbers of one type, not {:?}", types(x, y)),
    }
}

impl Evaluate for RankLoss {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let out = match [0, 1, 2].map(|k| call.read_broadcast(k)) {
            [Values::F32(label), Values::F32(left), Values::F32(right)] => {
                Values::F32((0..label.len()).map(|i| RankLoss::apply(label[i], left[i], right[i])).collect())
            }
            [Values::F64(label), Values::F64(left), Values::F64(right)] => {
                Values::F64((0..label.len()).map(|i| RankLoss::apply(label[i], left[i], right[i])).collect())
            }
            [label, left, _] => {
                panic!("scores are of one floating-point type, not {:?}", types(&label, &left))
            }
        };
        Ok(vec![out])
    }
}

impl Evaluate for Compare {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        Ok(vec![Values::Bool(match (call.read_broadcast(0), call.read_broadcast(1)) {
            (Values::Bool(x), Values::Bool(y)) => pairs(&x, &y, |x, y| self.kind.holds(x, y)),
            (Values::I32(x), Values::I32(y)) => pairs(&x, &y, |x, y| self.kind.holds(x, y)),
            (Values::I64(x), Values::I64(y)) => pairs(&x, &y, |x, y| self.kind.holds(x, y)),
            (Values::F32(x), Values::F32(y)) => pairs(&x, &y, |x, y| self.kind.holds(x, y)),
            (Values::F64(x), Values::F64(y)) => pairs(&x, &y, |x, y| self.kind.holds(x, y)),
            (x, y) => panic!("a comparison is of one element type, not {:?}", types(&x, &y)),
        })])
    }
}

impl Evaluate for Logical {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let out = match (call.read_broadcast(0), call.read_broadcast(1)) {
            (Values::Bool(x), Values::Bool(y)) => Values::Bool(pairs(&x, &y, |x, y| self.kind.holds(x, y))),
            (x, y) => panic!("truth functions are of truth values, not {:?}", types(&x, &y)),
        };
        Ok(vec![out])
    }
}

impl Evaluate for Not {
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let out = match call.read(0) {
            Values::Bool(x) => Values::Bool(x.into_iter().map(|x| !x).collect()),
            x => panic!("truth functions are of truth values, not {}", x.dtype()),
        };
        Ok(vec![out])
    }
}

impl Evaluate for Cast {
    /// Casts go through `f64`. It cannot represent integers beyond 2⁵³, so casts of `i64` to integers and `f32` do not.
    fn evaluate(&self, call: &Call<'_>) -> Results {
        let to = call.backend.stored(self.dtype);
        let out = match (call.read(0), to) {
            (Values::I64(x), DType::I64) => Values::I64(x),
            (Values::I64(x), DType::I32) => Values::I32(x.into_iter().map(|x| x as i32).collect()),
            (Values::I64(x), DType::F32) => Values::F32(x.into_iter().map(|x| x as f32).collect()),
            (Values::Bool(x), to) => numbers(x.into_iter().map(|x| f64::from(u8::from(x))).collect(), to),
            (Values::I32(x), to) => numbers(x.into_iter().map(f64::from).collect(), to),
            (Values::I64(x), to) => numbers(x.into_iter().map(|x| x as f64).collect(), to),
            (x, to) => numbers(x.floats(), to),
        };
        Ok(vec![out])
    }
}

fn numbers(x: Vec<f64>, to: DType) -> Values {
    match to {
        DType::Bool => Values::Bool(x.into_iter().map(|x| x != 0.0).collect()),
        DType::I32 => Values::I32(x.into_iter().map(|x| x as i32).collect()),
        DType::I64 => Values::I64(x.into_iter().map(|x| x as i64).collect()),
        DType::F32 | DType::F64 => Values::round(to, x),
    }
}

fn pairs<T: Copy, U>(x: &[T], y: &[T], f: impl Fn(T, T) -> U) -> Vec<U> {
    assert_eq!(x.len(), y.len());
    x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
}

fn types(x: &Values, y: &Values) -> [DType; 2] {
    [x.dtype(), y.dtype()]
}
