//! The CPU on every sample: any number of threads gives the same bits, whatever the memory held before, and nothing but
//! the results is written.

use paddle_core::plan::Location;
use paddle_kernels::Cpu;

use crate::device::MEMORIES;
use crate::draw::Draw;
use crate::run::{Case, Placed};
use crate::samples::every_sample;

/// The bytes of each result of a case, in memory that was filled with one byte. Panics if anything else is written.
pub(crate) fn results(case: &Case, cpu: &Cpu, before: u8) -> Vec<Vec<u8>> {
    let mut placed = Placed::new(case, cpu);
    for memory in MEMORIES {
        placed.device.buffer(memory).bytes_mut().fill(before);
    }
    placed.upload();
    let mut expected = MEMORIES.map(|memory| placed.device.buffer(memory).bytes().to_vec());
    placed.launch().unwrap_or_else(|error| panic!("{error}: {:?}", case.group));
    let mut found = Vec::new();
    let written: Vec<_> = placed.written().collect();
    for (layout, Location { memory, offset }) in written {
        let range = offset..offset + layout.elements(&case.sizes) * layout.dtype.bytes();
        let bytes = &placed.device.buffer(memory).bytes()[range.clone()];
        found.push(bytes.to_vec());
        let at = MEMORIES.iter().position(|known| *known == memory).expect("one of them");
        expected[at][range].copy_from_slice(bytes);
    }
    let mut memories = MEMORIES.iter().zip(&expected);
    let unchanged = memories.all(|(memory, expected)| placed.device.buffer(*memory).bytes() == expected);
    assert!(unchanged, "more than the results is written: {:?}", case.group);
    found
}

#[test]
fn any_number_of_threads_and_any_garbage_give_the_same_bits() {
    let machines = [1, 2, 3, 7].map(|threads| Cpu::with_threads(threads).unwrap());
    let mut draw = Draw::new(4);
    for sample in every_sample() {
        let case = Case::of(&sample, &mut draw);
        let one = results(&case, &machines[0], 0xFF);
        for (cpu, before) in machines.iter().zip([0x00, 0xFF, 0x3C, 0xFF]) {
            assert!(results(&case, cpu, before) == one, "on {} threads: {sample:?}", cpu.threads());
        }
    }
}
