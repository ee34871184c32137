//! Many rows at a time, in memories that are larger than the piece of one thread.

use paddle_core::plan::{HostSlice, HostSliceMut, Location, Memory, Move};
use paddle_core::program::DType;
use paddle_kernels::Cpu;

use crate::device::{Device, placed};

const COUNT: usize = 50_000;
/// The location of counts of chosen rows.
const CHOSEN: Location = Location { memory: Memory::State(0), offset: 0 };

fn at(memory: Memory) -> Location {
    Location { memory, offset: 64 }
}

/// A row whose bytes are its number.
fn row(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (number.wrapping_mul(31) >> (i % 3 * 5)) as u8 ^ i as u8).collect()
}

fn device(cpu: &Cpu, bytes: usize) -> Device<'_, Cpu> {
    let mut device = Device::new(cpu, [64 + bytes.max(COUNT * 4); 5]);
    for memory in crate::device::MEMORIES {
        device.buffer(memory).fill_poison();
    }
    device
}

fn put_rows(device: &mut Device<'_, Cpu>, bytes: usize) {
    let to = &mut device.buffer(Memory::Arena).bytes_mut()[64..][..COUNT * bytes];
    for (i, to) in to.chunks_exact_mut(bytes).enumerate() {
        to.copy_from_slice(&row(i, bytes));
    }
}

/// An element type for rows of `bytes` bytes, and the number of elements.
fn element(bytes: usize) -> (DType, usize) {
    match bytes % 4 {
        0 => (DType::F32, bytes / 4),
        _ => (DType::Bool, bytes),
    }
}

#[test]
fn rows_are_selected_gathered_and_scattered() {
    for threads in [1, 3] {
        let cpu = Cpu::with_threads(threads).unwrap();
        for bytes in [1, 4, 8, 12, 100] {
            let mut device = device(&cpu, COUNT * bytes);
            let mask: Vec<bool> = (0..COUNT).map(|i| i * i % 7 < 3).collect();
            device.upload(HostSlice::Bool(&mask), at(Memory::Arena));
            let yes = at(Memory::Tape);
            let trues = device.select(at(Memory::Arena), COUNT, yes, at(Memory::Pool), CHOSEN);
            let chosen: Vec<usize> = (0..COUNT).filter(|i| mask[*i]).collect();
            assert_eq!(trues, chosen.len());
            let mut index = vec![0; trues];
            device.download(yes, HostSliceMut::I32(&mut index));
            assert!(index.iter().map(|i| *i as usize).eq(chosen.iter().copied()));

            put_rows(&mut device, bytes);
            let (dtype, width) = element(bytes);
            let rows = |memory, count| placed(at(memory), dtype, &[count, width]);
            let index = placed(yes, DType::I32, &[trues]);
            let inputs = [rows(Memory::Arena, COUNT), index.clone()];
            device.run(Move::GatherRows, &inputs, &[rows(Memory::Pool, trues)]).unwrap();
            let gathered = &device.buffer(Memory::Pool).bytes()[64..];
            assert!(gathered.chunks_exact(bytes).zip(&chosen).all(|(found, i)| *found == row(*i, bytes)));

            let (inputs, to) = ([rows(Memory::Pool, trues), index], rows(Memory::Parameter(0), COUNT));
            device.run(Move::ScatterRows, &inputs, &[to]).unwrap();
            let scattered = &device.buffer(Memory::Parameter(0)).bytes()[64..][..COUNT * bytes];
            for (i, found) in scattered.chunks_exact(bytes).enumerate() {
                let expected = if mask[i] { row(i, bytes) } else { vec![0xFF; bytes] };
                assert!(*found == expected, "row {i} of {bytes} bytes on {threads} threads");
            }
        }
    }
}

#[test]
fn an_index_need_not_ascend() {
    let cpu = Cpu::with_threads(3).unwrap();
    let mut device = device(&cpu, COUNT * 12);
    let index: Vec<i32> = (0..COUNT as u32).map(|i| ((i * 7919 + 5) % COUNT as u32) as i32).collect();
    device.upload(HostSlice::I32(&index), at(Memory::Tape));
    put_rows(&mut device, 12);
    let rows = |memory| placed(at(memory), DType::F32, &[COUNT, 3]);
    let index = placed(at(Memory::Tape), DType::I32, &[COUNT]);
    let (arena, pool, parameter) = (rows(Memory::Arena), rows(Memory::Pool), rows(Memory::Parameter(0)));
    device.run(Move::ScatterRows, &[arena, index.clone()], std::slice::from_ref(&pool)).unwrap();
    device.run(Move::GatherRows, &[pool, index], &[parameter]).unwrap();
    let before = device.buffer(Memory::Arena).bytes()[64..][..COUNT * 12].to_vec();
    assert!(before == device.buffer(Memory::Parameter(0)).bytes()[64..][..COUNT * 12]);
}

#[test]
fn no_rows_are_moved_without_an_index() {
    let cpu = Cpu::with_threads(1).unwrap();
    let mut device = Device::new(&cpu, [84; 5]);
    for shape in [[0, 1], [5, 0]] {
        let rows = |memory| placed(at(memory), DType::F32, &shape);
        let inputs = [rows(Memory::Arena), placed(at(Memory::Tape), DType::I32, &shape[..1])];
        device.run(Move::GatherRows, &inputs, &[rows(Memory::Pool)]).unwrap();
        device.run(Move::ScatterRows, &inputs, &[rows(Memory::Pool)]).unwrap();
    }
    assert_eq!(device.select(at(Memory::Arena), 0, at(Memory::Tape), at(Memory::Pool), CHOSEN), 0);
}

#[test]
#[should_panic(expected = "the memory has")]
fn rows_outside_of_their_memory_are_a_mistake() {
    let cpu = Cpu::with_threads(1).unwrap();
    let mut device = device(&cpu, 0);
    let inputs =
        [placed(at(Memory::Arena), DType::F32, &[1 << 30]), placed(at(Memory::Tape), DType::I32, &[2])];
    let _ = device.run(Move::GatherRows, &inputs, &[placed(at(Memory::Pool), DType::F32, &[2])]);
}
