//! Many rows at a time, in memories larger than what one thread moves.

use paddle_core::plan::{Backend, HostSlice, HostSliceMut, Location, Memory, Rows};
use paddle_kernels::Cpu;
use paddle_kernels::memory::Buffer;

const COUNT: usize = 50_000;

fn at(memory: Memory) -> Location {
    Location { memory, offset: 64 }
}

/// The number of a row, in each of its bytes.
fn row(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (number.wrapping_mul(31) >> (i % 3 * 5)) as u8 ^ i as u8).collect()
}

fn buffers(cpu: &Cpu, bytes: usize) -> [Buffer; Memory::COUNT] {
    std::array::from_fn(|_| {
        let mut buffer = cpu.allocate(64 + bytes.max(COUNT * 4)).unwrap();
        buffer.fill_poison();
        buffer
    })
}

fn put_index(cpu: &Cpu, index: &[u32], buffers: &mut [Buffer]) {
    let index: Vec<i32> = index.iter().map(|row| *row as i32).collect();
    cpu.upload(HostSlice::I32(&index), &mut buffers[Memory::Tape as usize], 64);
}

#[test]
fn rows_are_selected_gathered_and_scattered() {
    for threads in [1, 3] {
        let cpu = Cpu::with_threads(threads).unwrap();
        for bytes in [1, 4, 8, 12, 100] {
            let mut buffers = buffers(&cpu, COUNT * bytes);
            let mask: Vec<bool> = (0..COUNT).map(|i| i * i % 7 < 3).collect();
            cpu.upload(HostSlice::Bool(&mask), &mut buffers[Memory::Arena as usize], 64);
            let yes = at(Memory::Tape);
            let trues = cpu.select(at(Memory::Arena), COUNT, yes, at(Memory::Pool), &mut buffers);
            let chosen: Vec<usize> = (0..COUNT).filter(|i| mask[*i]).collect();
            assert_eq!(trues, chosen.len());
            let mut index = vec![0; trues];
            cpu.download(&buffers[Memory::Tape as usize], 64, HostSliceMut::I32(&mut index));
            assert!(index.iter().map(|i| *i as usize).eq(chosen.iter().copied()));

            for (i, to) in buffers[Memory::Arena as usize].bytes_mut()[64..][..COUNT * bytes]
                .chunks_exact_mut(bytes)
                .enumerate()
            {
                to.copy_from_slice(&row(i, bytes));
            }
            let rows = Rows { count: trues, bytes };
            cpu.gather(rows, at(Memory::Arena), yes, at(Memory::Pool), &mut buffers);
            let gathered = &buffers[Memory::Pool as usize].bytes()[64..];
            assert!(gathered.chunks_exact(bytes).zip(&chosen).all(|(found, i)| *found == row(*i, bytes)));

            cpu.scatter(rows, at(Memory::Pool), yes, at(Memory::Parameters), &mut buffers);
            let scattered = &buffers[Memory::Parameters as usize].bytes()[64..][..COUNT * bytes];
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
    let bytes = 12;
    let mut buffers = buffers(&cpu, COUNT * bytes);
    let index: Vec<u32> = (0..COUNT as u32).map(|i| (i * 7919 + 5) % COUNT as u32).collect();
    put_index(&cpu, &index, &mut buffers);
    for (i, to) in
        buffers[Memory::Arena as usize].bytes_mut()[64..][..COUNT * bytes].chunks_exact_mut(bytes).enumerate()
    {
        to.copy_from_slice(&row(i, bytes));
    }
    let rows = Rows { count: COUNT, bytes };
    cpu.scatter(rows, at(Memory::Arena), at(Memory::Tape), at(Memory::Pool), &mut buffers);
    cpu.gather(rows, at(Memory::Pool), at(Memory::Tape), at(Memory::Parameters), &mut buffers);
    let (before, after) = (&buffers[Memory::Arena as usize], &buffers[Memory::Parameters as usize]);
    assert!(before.bytes()[64..][..COUNT * bytes] == after.bytes()[64..][..COUNT * bytes]);
}

#[test]
fn no_rows_are_moved_without_an_index() {
    let cpu = Cpu::with_threads(1).unwrap();
    let mut buffers: [Buffer; Memory::COUNT] = std::array::from_fn(|_| cpu.allocate(64).unwrap());
    for rows in [Rows { count: 0, bytes: 4 }, Rows { count: 5, bytes: 0 }] {
        cpu.gather(rows, at(Memory::Arena), at(Memory::Tape), at(Memory::Pool), &mut buffers);
        cpu.scatter(rows, at(Memory::Arena), at(Memory::Tape), at(Memory::Pool), &mut buffers);
    }
    assert_eq!(cpu.select(at(Memory::Arena), 0, at(Memory::Tape), at(Memory::Pool), &mut buffers), 0);
}

#[test]
#[should_panic(expected = "the memory has")]
fn rows_outside_of_their_memory_are_a_mistake() {
    let cpu = Cpu::with_threads(1).unwrap();
    let mut buffers = buffers(&cpu, 0);
    put_index(&cpu, &[3, 1 << 30], &mut buffers);
    let rows = Rows { count: 2, bytes: 4 };
    cpu.gather(rows, at(Memory::Arena), at(Memory::Tape), at(Memory::Pool), &mut buffers);
}
