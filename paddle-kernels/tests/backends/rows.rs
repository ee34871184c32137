//! Selecting, gathering and merging rows.

use paddle_core::plan::{ALIGNMENT, Backend, Location, Memory, Rows};
use paddle_core::program::DType;

use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;

/// A location in a memory of its own, or of its own part of one.
const fn at(memory: Memory, part: usize) -> Location {
    Location { memory, offset: part * PART }
}

/// Room for the largest value of these tests.
const PART: usize = 64 * 1024;

fn buffers<B: Backend>(backend: &B) -> Vec<B::Buffer> {
    let mut buffers: Vec<_> = (0..Memory::COUNT).map(|_| backend.allocate(4 * PART).unwrap()).collect();
    buffers.iter_mut().for_each(|buffer| backend.poison(buffer));
    buffers
}

fn upload<B: Backend>(backend: &B, host: &Host, to: Location, buffers: &mut [B::Buffer]) {
    backend.upload(host.slice(), &mut buffers[to.memory as usize], to.offset);
}

fn download<B: Backend>(
    backend: &B,
    dtype: DType,
    count: usize,
    from: Location,
    buffers: &[B::Buffer],
) -> Host {
    let mut host = Host::zeros(dtype, count);
    backend.download(&buffers[from.memory as usize], from.offset, host.slice_mut());
    host
}

/// Splits rows by a mask, changes those of one side, and merges them again.
fn check<B: Backend>(backend: &B, mask: &[bool], row: usize, dtype: DType, draw: &mut Draw) {
    let (mask_at, yes, no) = (at(Memory::Arena, 0), at(Memory::Arena, 1), at(Memory::Tape, 1));
    let (whole, merged) = (at(Memory::Parameters, 0), at(Memory::Pool, 3));
    let (true_rows, false_rows) = (at(Memory::Arena, 2), at(Memory::Pool, 1));
    let mut buffers = buffers(backend);
    upload(backend, &Host::Bool(mask.to_vec()), mask_at, &mut buffers);
    let values = draw.elements(dtype, mask.len() * row, (-9.0, 9.0));
    upload(backend, &values, whole, &mut buffers);

    let chosen = backend.select(mask_at, mask.len(), yes, no, &mut buffers);
    assert_eq!(chosen, mask.iter().filter(|&&holds| holds).count());
    let bytes = row * backend.element_bytes(dtype);
    let sides = [(chosen, yes, true_rows, true), (mask.len() - chosen, no, false_rows, false)];
    for (count, index, side, holds) in sides {
        backend.gather(Rows { count, bytes }, whole, index, side, &mut buffers);
        let expected: Vec<usize> = (0..mask.len()).filter(|&at| mask[at] == holds).collect();
        let found = download(backend, dtype, count * row, side, &buffers);
        assert_eq!(found, rows_of(&values, row, &expected), "the rows that are {holds} of {mask:?}");
    }
    for (count, index, side, _) in sides {
        backend.scatter(Rows { count, bytes }, side, index, merged, &mut buffers);
    }
    assert_eq!(download(backend, dtype, mask.len() * row, merged, &buffers), values, "{mask:?}");
}

/// These rows of `values`.
fn rows_of(values: &Host, row: usize, rows: &[usize]) -> Host {
    fn pick<T: Copy>(values: &[T], row: usize, rows: &[usize]) -> Vec<T> {
        rows.iter().flat_map(|&at| values[at * row..(at + 1) * row].to_vec()).collect()
    }
    match values {
        Host::Bool(values) => Host::Bool(pick(values, row, rows)),
        Host::I32(values) => Host::I32(pick(values, row, rows)),
        Host::I64(values) => Host::I64(pick(values, row, rows)),
        Host::F32(values) => Host::F32(pick(values, row, rows)),
        Host::F64(values) => Host::F64(pick(values, row, rows)),
    }
}

fn split_and_merged_rows_are_the_rows<B: Backend>(backend: &B) {
    let mut draw = Draw::new(4);
    for count in [0, 1, 2, 3, 63, 64, 65, 200, 1000] {
        let random: Vec<bool> = (0..count).map(|_| draw.flip()).collect();
        let rare: Vec<bool> = (0..count).map(|_| draw.below(20) == 0).collect();
        for mask in [random, rare, vec![true; count], vec![false; count]] {
            for (row, dtype) in [(1, DType::F32), (7, DType::F32), (1, DType::Bool), (3, DType::Bool)] {
                check(backend, &mask, row, dtype, &mut draw);
            }
            for dtype in [DType::I32, DType::I64, DType::F64] {
                check(backend, &mask, 2, dtype, &mut draw);
            }
            check(backend, &mask, 0, DType::F32, &mut draw);
        }
    }
}

/// Merging changes the rows of its side only.
fn scattered_rows_leave_others_alone<B: Backend>(backend: &B) {
    let mut buffers = buffers(backend);
    let (mask, yes, no) = (at(Memory::Arena, 0), at(Memory::Arena, 1), at(Memory::Arena, 2));
    let (from, to) = (at(Memory::Pool, 0), at(Memory::Tape, 0));
    upload(backend, &Host::Bool(vec![false, true, false, true]), mask, &mut buffers);
    upload(backend, &Host::F32(vec![10.0, 20.0]), from, &mut buffers);
    upload(backend, &Host::F32(vec![1.0, 2.0, 3.0, 4.0]), to, &mut buffers);
    assert_eq!(backend.select(mask, 4, yes, no, &mut buffers), 2);
    let rows = Rows { count: 2, bytes: backend.element_bytes(DType::F32) };
    backend.scatter(rows, from, yes, to, &mut buffers);
    let found = download(backend, DType::F32, 4, to, &buffers);
    assert_eq!(found, Host::F32(vec![1.0, 10.0, 3.0, 20.0]));
}

/// Gathering within one memory, as executors do.
fn rows_move_within_a_memory<B: Backend>(backend: &B) {
    let mut buffers = buffers(backend);
    let part = |i: usize| Location { memory: Memory::Arena, offset: i * 10 * ALIGNMENT };
    upload(backend, &Host::Bool(vec![true, false, true]), part(0), &mut buffers);
    upload(backend, &Host::I64(vec![1, 2, 3, 4, 5, 6]), part(1), &mut buffers);
    assert_eq!(backend.select(part(0), 3, part(2), part(3), &mut buffers), 2);
    backend.gather(Rows { count: 2, bytes: 16 }, part(1), part(2), part(4), &mut buffers);
    assert_eq!(download(backend, DType::I64, 4, part(4), &buffers), Host::I64(vec![1, 2, 5, 6]));
}

on_every_backend!(
    split_and_merged_rows_are_the_rows,
    scattered_rows_leave_others_alone,
    rows_move_within_a_memory,
);
