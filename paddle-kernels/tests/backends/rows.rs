//! Selecting, gathering and merging rows.

use paddle_core::plan::{Backend, Location, Memory, Move};
use paddle_core::program::DType;

use crate::device::{Device, placed};
use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;

/// A location in a memory. `part` tells locations of one memory apart.
const fn at(memory: Memory, part: usize) -> Location {
    Location { memory, offset: part * PART }
}

/// Room for the largest value of these tests.
const PART: usize = 64 * 1024;
/// The location of counts of chosen rows.
const COUNT: Location = at(Memory::State(0), 0);

fn device<B: Backend>(backend: &B) -> Device<'_, B> {
    let mut device = Device::new(backend, [4 * PART; 5]);
    device.poison();
    device
}

fn download<B: Backend>(device: &mut Device<'_, B>, dtype: DType, count: usize, from: Location) -> Host {
    let mut host = Host::zeros(dtype, count);
    device.download(from, host.slice_mut());
    host
}

/// Splits rows by a mask, changes those of one side, and merges them again.
fn check<B: Backend>(backend: &B, mask: &[bool], row: usize, dtype: DType, draw: &mut Draw) {
    let (mask_at, yes, no) = (at(Memory::Arena, 0), at(Memory::Arena, 1), at(Memory::Tape, 1));
    let (whole, merged) = (at(Memory::Parameter(0), 0), at(Memory::Pool, 3));
    let (true_rows, false_rows) = (at(Memory::Arena, 2), at(Memory::Pool, 1));
    let mut device = device(backend);
    device.upload(Host::Bool(mask.to_vec()).slice(), mask_at);
    let values = draw.elements(dtype, mask.len() * row, (-9.0, 9.0));
    device.upload(values.slice(), whole);

    let chosen = device.select(mask_at, mask.len(), yes, no, COUNT);
    assert_eq!(chosen, mask.iter().filter(|&&holds| holds).count());
    let sides = [(chosen, yes, true_rows, true), (mask.len() - chosen, no, false_rows, false)];
    let rows = |at, count| placed(at, dtype, &[count, row]);
    for (count, index, side, holds) in sides {
        let inputs = [rows(whole, mask.len()), placed(index, DType::I32, &[count])];
        device.run(Move::GatherRows, &inputs, &[rows(side, count)]).unwrap();
        let expected: Vec<usize> = (0..mask.len()).filter(|&at| mask[at] == holds).collect();
        let found = download(&mut device, dtype, count * row, side);
        assert_eq!(found, rows_of(&values, row, &expected), "the rows that are {holds} of {mask:?}");
    }
    for (count, index, side, _) in sides {
        let inputs = [rows(side, count), placed(index, DType::I32, &[count])];
        device.run(Move::ScatterRows, &inputs, &[rows(merged, mask.len())]).unwrap();
    }
    assert_eq!(download(&mut device, dtype, mask.len() * row, merged), values, "{mask:?}");
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

/// Merging changes only the rows of its side.
fn scattered_rows_leave_others_alone<B: Backend>(backend: &B) {
    let mut device = device(backend);
    let (mask, yes, no) = (at(Memory::Arena, 0), at(Memory::Arena, 1), at(Memory::Arena, 2));
    let (from, to) = (at(Memory::Pool, 0), at(Memory::Tape, 0));
    device.upload(Host::Bool(vec![false, true, false, true]).slice(), mask);
    device.upload(Host::F32(vec![10.0, 20.0]).slice(), from);
    device.upload(Host::F32(vec![1.0, 2.0, 3.0, 4.0]).slice(), to);
    assert_eq!(device.select(mask, 4, yes, no, COUNT), 2);
    let inputs = [placed(from, DType::F32, &[2]), placed(yes, DType::I32, &[2])];
    let to_type = placed(to, DType::F32, &[4]);
    device.run(Move::ScatterRows, &inputs, std::slice::from_ref(&to_type)).unwrap();
    let found = download(&mut device, DType::F32, 4, to);
    assert_eq!(found, Host::F32(vec![1.0, 10.0, 3.0, 20.0]));
    device.run(Move::AddRows, &inputs, &[to_type]).unwrap();
    let found = download(&mut device, DType::F32, 4, to);
    assert_eq!(found, Host::F32(vec![1.0, 20.0, 3.0, 40.0]));
}

/// Gathers within one memory, as executors do.
fn rows_move_within_a_memory<B: Backend>(backend: &B) {
    let mut device = device(backend);
    let part = |i: usize| Location { memory: Memory::Arena, offset: i * 640 };
    device.upload(Host::Bool(vec![true, false, true]).slice(), part(0));
    device.upload(Host::I64(vec![1, 2, 3, 4, 5, 6]).slice(), part(1));
    assert_eq!(device.select(part(0), 3, part(2), part(3), COUNT), 2);
    let (all, index) = (placed(part(1), DType::I64, &[3, 2]), placed(part(2), DType::I32, &[2]));
    let inputs = [all.clone(), index.clone()];
    device.run(Move::GatherRows, &inputs, &[placed(part(4), DType::I64, &[2, 2])]).unwrap();
    assert_eq!(download(&mut device, DType::I64, 4, part(4)), Host::I64(vec![1, 2, 5, 6]));
    device.run(Move::CompactRows, &[index], &[all]).unwrap();
    assert_eq!(download(&mut device, DType::I64, 6, part(1)), Host::I64(vec![1, 2, 5, 6, 5, 6]));
}

/// Lengths become offsets. A negative length, or more tokens than can be counted, is a fault.
fn lengths_add_up<B: Backend>(backend: &B) {
    let mut device = device(backend);
    let (lengths, offsets) = (at(Memory::Arena, 0), at(Memory::Tape, 0));
    let mut make = |given: &[i64]| {
        device.upload(Host::I64(given.to_vec()).slice(), lengths);
        let inputs = [placed(lengths, DType::I64, &[given.len()])];
        let outputs = [placed(offsets, DType::I64, &[given.len() + 1])];
        let made = device.run(Move::AddLengths, &inputs, &outputs);
        made.map(|()| download(&mut device, DType::I64, given.len() + 1, offsets))
            .map_err(|error| error.to_string())
    };
    assert_eq!(make(&[2, 0, 3]), Ok(Host::I64(vec![0, 2, 2, 5])));
    assert_eq!(make(&[]), Ok(Host::I64(vec![0])));
    let negative = make(&[1, -2, 3]).unwrap_err();
    assert_eq!(negative, "the length of sequence 1 is -2; it has to be at least 0");
    assert!(make(&[i64::MAX, 1]).unwrap_err().contains("more tokens than can be counted"));
    // The fault has been reported, so the queue continues.
    assert_eq!(make(&[1]), Ok(Host::I64(vec![0, 1])));
}

on_every_backend!(
    split_and_merged_rows_are_the_rows,
    scattered_rows_leave_others_alone,
    rows_move_within_a_memory,
    lengths_add_up,
);
