//! The CPU on every sample: any number of threads gives the same bits, whatever was in memory before, and writes what
//! it is to write and nothing else.

use paddle_kernels::Cpu;

use crate::draw::Draw;
use crate::run::{Case, Placed};
use crate::samples::every_sample;

/// The bytes of each result of a case, in memory that was full of a byte. Panics if anything else is written.
pub(crate) fn results(case: &Case, cpu: &Cpu, before: u8) -> Vec<Vec<u8>> {
    let mut placed = Placed::new(case, cpu);
    for buffer in &mut placed.buffers {
        buffer.bytes_mut().fill(before);
    }
    placed.upload();
    let mut expected: Vec<Vec<u8>> = placed.buffers.iter().map(|buffer| buffer.bytes().to_vec()).collect();
    placed.launch().unwrap_or_else(|error| panic!("{error}: {:?}", case.group));
    let mut found = Vec::new();
    for (layout, location) in placed.written() {
        let memory = location.memory as usize;
        let bytes = layout.elements(&case.sizes) * layout.dtype.bytes();
        let range = location.offset..location.offset + bytes;
        found.push(placed.buffers[memory].bytes()[range.clone()].to_vec());
        expected[memory][range.clone()].copy_from_slice(&placed.buffers[memory].bytes()[range]);
    }
    let unchanged = placed.buffers.iter().zip(&expected).all(|(buffer, expected)| buffer.bytes() == expected);
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
