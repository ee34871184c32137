//! Variables, loops, branches, threads.

use super::build::{append_otherwise, body, compute, push, share, value, variable};
use super::numbers::Register;
use super::{Array, Expression, LANES, Statement, Thread, Truth, Type, Unsigned, VariableId};

/// A variable that holds one number.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Variable<T> {
    id: VariableId,
    number: std::marker::PhantomData<T>,
}

impl<T: Register> Variable<T> {
    /// A variable that begins as this number.
    pub(in crate::gpu) fn new(first: T) -> Self {
        Variable { id: variable(T::TYPE, first.value()), number: std::marker::PhantomData }
    }

    /// Its number now.
    pub(in crate::gpu) fn get(self) -> T {
        T::from_value(compute(T::TYPE, Expression::Read(self.id)))
    }

    /// Changes it.
    pub(in crate::gpu) fn set(self, to: T) {
        push(Statement::Assign(self.id, to.value()));
    }
}

/// An array that the threads of a workgroup share.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Shared<T> {
    number: u32,
    element: std::marker::PhantomData<T>,
}

impl<T: Register> Shared<T> {
    /// An array of this length.
    pub(in crate::gpu) fn new(length: u32) -> Self {
        Shared { number: share(T::TYPE, length), element: std::marker::PhantomData }
    }

    /// An element.
    pub(in crate::gpu) fn get(self, at: Unsigned) -> T {
        T::from_value(compute(T::TYPE, Expression::Load(Array::Shared(self.number), at.0)))
    }

    /// Changes an element.
    pub(in crate::gpu) fn set(self, at: Unsigned, to: T) {
        push(Statement::Store(Array::Shared(self.number), at.0, to.value()));
    }
}

/// Waits until all threads of the workgroup are here, and see what others have written. All threads have to come here, or
/// none.
pub(in crate::gpu) fn barrier() {
    push(Statement::Barrier);
}

/// The number of the thread within its workgroup.
pub(in crate::gpu) fn lane() -> Unsigned {
    Unsigned(compute(Type::Unsigned, Expression::Thread(Thread::Lane)))
}

/// The number of the workgroup.
pub(in crate::gpu) fn workgroup() -> Unsigned {
    Unsigned(compute(Type::Unsigned, Expression::Thread(Thread::Workgroup)))
}

/// The number of workgroups.
pub(in crate::gpu) fn workgroups() -> Unsigned {
    Unsigned(compute(Type::Unsigned, Expression::Thread(Thread::Workgroups)))
}

/// The number of the thread among all threads.
fn global_thread() -> Unsigned {
    workgroup() * Unsigned::of(LANES) + lane()
}

/// The number of threads.
fn threads() -> Unsigned {
    workgroups() * Unsigned::of(LANES)
}

/// Runs the body for `first`, `first + step`, and so on, below `end`.
pub(in crate::gpu) fn for_each(first: Unsigned, end: Unsigned, step: Unsigned, write: impl FnOnce(Unsigned)) {
    let counter = value();
    let body = body(|| write(Unsigned(counter)));
    push(Statement::For { counter, first: first.0, end: end.0, step: step.0, body });
}

/// Runs the body once for each number below `count`: the threads share the numbers.
pub(in crate::gpu) fn each(count: Unsigned, write: impl FnOnce(Unsigned)) {
    for_each(global_thread(), count, threads(), write);
}

/// Runs the body if the condition holds.
pub(in crate::gpu) fn when(condition: Truth, write: impl FnOnce()) {
    let body = body(write);
    push(Statement::If(condition.0, body, Vec::new()));
}

/// Runs the body if the condition of the [`when`] right before it did not hold.
pub(in crate::gpu) fn otherwise(write: impl FnOnce()) {
    let body = body(write);
    append_otherwise(body);
}

/// Says that the launch fails at this position.
pub(in crate::gpu) fn fail(position: Unsigned) {
    push(Statement::Fail(position.0));
}
