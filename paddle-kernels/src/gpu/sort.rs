//! A stable sort of numbers, digit by digit: each thread counts the digits of a part, and moves the part behind those in front of it.
//! Nothing depends on the order in which threads run.

use paddle_core::plan::{Extent, Group, OperandType};
use paddle_core::program::DType;

use super::fold::scan;
use super::form::{LANES, Shared, Truth, Unsigned, Variable, each, for_each, lane, otherwise, scalar, when};
use super::kernel::{Grid, Kernel};
use super::tensor::{Element, Tensor};

/// The bits of a digit.
const DIGIT_BITS: u32 = 4;
const DIGITS: u32 = 1 << DIGIT_BITS;
/// The least numbers of a part, and the most parts: one workgroup adds up their counts.
const PART: u32 = 32;
const MOST_PARTS: u32 = 4096;
/// The words of scratch for each number: two copies of the numbers and of their places, and the counts of the parts' digits.
const WORDS: usize = 20;

/// Numbers in order, with the places where they were.
#[derive(Clone)]
pub(super) struct Sorted {
    /// The number of the scratch among the operands.
    operand: usize,
    count: Vec<Extent>,
    passes: u32,
}

/// The bits that numbers below a size have.
pub(super) fn bits_below(size: &[Extent]) -> u32 {
    let fixed = size.iter().try_fold(1usize, |product, extent| match extent {
        Extent::Fixed(size) => product.checked_mul(*size),
        Extent::Bound(_) => None,
    });
    fixed.map_or(u32::BITS, |size| (usize::BITS - size.leading_zeros()).min(u32::BITS))
}

/// Adds the stages that sort `count` numbers of so many bits. `number` gives one of them.
pub(super) fn sort(
    kernel: Kernel,
    group: &Group,
    count: &[Extent],
    bits: u32,
    number: &dyn Fn(Unsigned) -> Unsigned,
) -> (Kernel, Sorted) {
    let operand = group.inputs.len() + group.outputs.len() + kernel.scratch.len();
    let passes = bits.div_ceil(DIGIT_BITS).max(1);
    let sorted = Sorted { operand, count: count.to_vec(), passes };
    let mut kernel = kernel.scratch([count, &[Extent::Fixed(WORDS)]].concat());
    for pass in 0..passes {
        // The numbers of a pass, and where they were.
        let source = |at: Unsigned| match pass {
            0 => (number(at), at),
            _ => (sorted.word(sorted.half(pass - 1), at), sorted.word(sorted.half(pass - 1) + 1, at)),
        };
        let digit = |number: Unsigned| (number >> Unsigned::of(pass * DIGIT_BITS)) & Unsigned::of(DIGITS - 1);
        kernel = kernel
            .stage(Grid::Items(count.to_vec()), || sorted.count_digits(&|at| digit(source(at).0)))
            .stage(Grid::One, || sorted.add_up())
            .stage(Grid::Items(count.to_vec()), || sorted.move_part(pass, &source, &digit));
    }
    (kernel, sorted)
}

impl Sorted {
    /// Which copy a pass writes.
    fn half(&self, pass: u32) -> u32 {
        2 * (pass % 2)
    }

    fn scratch(&self) -> Tensor {
        let shape = [&self.count[..], &[Extent::Fixed(WORDS)]].concat();
        Tensor::new(self.operand, &OperandType::new(DType::I32, shape))
    }

    fn len(&self) -> Unsigned {
        scalar(&self.count)
    }

    /// The numbers of a part.
    fn part(&self) -> Unsigned {
        ((self.len() + Unsigned::of(MOST_PARTS - 1)) / Unsigned::of(MOST_PARTS)).max_with(Unsigned::of(PART))
    }

    fn parts(&self) -> Unsigned {
        (self.len() + self.part() - Unsigned::of(1)) / self.part()
    }

    /// A word of one of the arrays in the scratch, all of which are as long as there are numbers.
    fn word(&self, array: u32, at: Unsigned) -> Unsigned {
        let scratch = self.scratch();
        scratch.load(self.len() * Unsigned::of(array) + at).signed().as_unsigned()
    }

    fn set_word(&self, array: u32, at: Unsigned, word: Unsigned) {
        let scratch = self.scratch();
        scratch.store(self.len() * Unsigned::of(array) + at, Element::Signed(word.as_signed()));
    }

    /// Where the counts begin, which are the last array.
    const COUNTS: u32 = 4;

    fn each_part(&self, write: impl FnOnce(Unsigned, Unsigned, Unsigned)) {
        each(self.parts(), |part| {
            let first = part * self.part();
            write(part, first, (first + self.part()).least(self.len()));
        });
    }

    /// Counts how often a part has each digit.
    fn count_digits(&self, digit: &dyn Fn(Unsigned) -> Unsigned) {
        let (counts, u) = (Shared::<Unsigned>::new(DIGITS * LANES), Unsigned::of);
        let own = |digit: Unsigned| digit * u(LANES) + lane();
        self.each_part(|part, first, end| {
            for_each(u(0), u(DIGITS), u(1), |digit| counts.set(own(digit), u(0)));
            for_each(first, end, u(1), |at| {
                let place = own(digit(at));
                counts.set(place, counts.get(place) + u(1));
            });
            for_each(u(0), u(DIGITS), u(1), |digit| {
                self.set_word(Self::COUNTS, digit * self.parts() + part, counts.get(own(digit)));
            });
        });
    }

    /// Replaces each count by what is in front: smaller digits, and the same digit in parts that are in front.
    fn add_up(&self) {
        let count = self.parts() * Unsigned::of(DIGITS);
        let read = |at: Unsigned| self.word(Self::COUNTS, at);
        scan(count, read, |at, before| self.set_word(Self::COUNTS, at, before));
    }

    /// Moves the numbers of a part to their places.
    fn move_part(
        &self,
        pass: u32,
        source: &dyn Fn(Unsigned) -> (Unsigned, Unsigned),
        digit: &dyn Fn(Unsigned) -> Unsigned,
    ) {
        let (next, u) = (Shared::<Unsigned>::new(DIGITS * LANES), Unsigned::of);
        let own = |digit: Unsigned| digit * u(LANES) + lane();
        self.each_part(|part, first, end| {
            for_each(u(0), u(DIGITS), u(1), |digit| {
                next.set(own(digit), self.word(Self::COUNTS, digit * self.parts() + part));
            });
            for_each(first, end, u(1), |at| {
                let (number, place) = source(at);
                let counter = own(digit(number));
                let to = next.get(counter);
                next.set(counter, to + u(1));
                self.set_word(self.half(pass), to, number);
                self.set_word(self.half(pass) + 1, to, place);
            });
        });
    }

    /// The number at a position.
    pub(super) fn number(&self, at: Unsigned) -> Unsigned {
        self.word(self.half(self.passes - 1), at)
    }

    /// Where the number at a position was.
    pub(super) fn place(&self, at: Unsigned) -> Unsigned {
        self.word(self.half(self.passes - 1) + 1, at)
    }

    /// The first position whose number is not below this one.
    pub(super) fn first(&self, number: Unsigned) -> Unsigned {
        first_that(self.len(), |at| self.number(at).greater_equal(number))
    }

    /// Whether the number at a position is another one than that in front of it.
    pub(super) fn is_new(&self, at: Unsigned) -> Truth {
        let is_first = at.is(Unsigned::of(0));
        let before = at - (!is_first).to_unsigned();
        is_first | self.number(before).is_not(self.number(at))
    }
}

/// The first number below `count` for which a condition holds that holds for all behind it, by bisection; `count` if there is none.
pub(super) fn first_that(count: Unsigned, holds: impl Fn(Unsigned) -> Truth) -> Unsigned {
    let u = Unsigned::of;
    let (low, high) = (Variable::new(u(0)), Variable::new(count));
    for_each(u(0), u(32), u(1), |_| {
        when(low.get().less(high.get()), || {
            let middle = low.get() + (high.get() - low.get()) / u(2);
            let holds = holds(middle);
            when(holds, || high.set(middle));
            otherwise(|| low.set(middle + u(1)));
        });
    });
    low.get()
}
