//! Memory: copies to, from and within it, zeros, sums.

use paddle_core::plan::{Backend, HostSliceMut, Location, Memory, Move, Piece};
use paddle_core::program::DType;

use crate::device::{Device, placed};
use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;

const TYPES: [DType; 5] = DType::ALL;
const COUNTS: [usize; 7] = [0, 1, 5, 16, 100, 1000, 20_000];

fn at(memory: Memory, offset: usize) -> Location {
    Location { memory, offset }
}

fn device<B: Backend>(backend: &B) -> Device<'_, B> {
    Device::new(backend, [512 * 1024; 5])
}

fn download<B: Backend>(device: &mut Device<'_, B>, like: &Host, from: Location) -> Host {
    let mut host = Host::zeros(like.slice().dtype(), like.len());
    device.download(from, host.slice_mut());
    host
}

fn what_is_uploaded_comes_back<B: Backend>(backend: &B) {
    let mut draw = Draw::new(5);
    let mut device = device(backend);
    for (dtype, count) in TYPES.iter().flat_map(|dtype| COUNTS.map(|count| (*dtype, count))) {
        let values = draw.elements(dtype, count, (-9.0, 9.0));
        for offset in [0, 4096] {
            let to = at(Memory::Tape, offset);
            device.upload(values.slice(), to);
            assert_eq!(download(&mut device, &values, to), values);
            let mut read = Host::zeros(dtype, count);
            device.read(to, dtype, read.slice_mut());
            assert_eq!(read, values);
        }
    }
}

/// Copies take as many elements as both sides have.
fn copies_are_equal<B: Backend>(backend: &B) {
    let mut draw = Draw::new(6);
    let mut device = device(backend);
    let from = at(Memory::Arena, 64);
    for (dtype, count) in TYPES.iter().flat_map(|dtype| COUNTS.map(|count| (*dtype, count))) {
        let values = draw.elements(dtype, count, (-9.0, 9.0));
        device.upload(values.slice(), from);
        for to in [at(Memory::Pool, 0), at(Memory::Arena, 256 * 1024)] {
            for more in [[0, 0], [3, 0], [0, 3]] {
                backend.poison(device.buffer(Memory::Pool));
                let inputs = [placed(from, dtype, &[count + more[0]])];
                device.run(Move::Copy, &inputs, &[placed(to, dtype, &[count + more[1]])]).unwrap();
                assert_eq!(download(&mut device, &values, to), values);
            }
        }
    }
}

fn zeros_are_zero<B: Backend>(backend: &B) {
    let mut device = device(backend);
    let to = at(Memory::Tape, 128);
    for (dtype, count) in TYPES.iter().flat_map(|dtype| COUNTS.map(|count| (*dtype, count))) {
        device.poison();
        device.run(Move::Zero, &[], &[placed(to, dtype, &[count])]).unwrap();
        let zeros = Host::zeros(dtype, count);
        assert_eq!(download(&mut device, &zeros, to), zeros);
    }
}

fn sums_are_sums<B: Backend>(backend: &B) {
    let mut draw = Draw::new(7);
    let mut device = device(backend);
    for count in COUNTS {
        for to in [at(Memory::Pool, 0), at(Memory::Arena, 256 * 1024)] {
            let from = at(Memory::Arena, 0);
            // Values are multiples of a quarter, so every sum is exact.
            let mut values = || draw.elements(DType::I32, count, (-400.0, 400.0));
            let quarters = |host: Host| match host {
                Host::I32(values) => Host::F32(values.into_iter().map(|value| value as f32 / 4.0).collect()),
                other => other,
            };
            let (a, b) = (quarters(values()), quarters(values()));
            let sum: Vec<f64> = a.floats().iter().zip(b.floats()).map(|(a, b)| a + b).collect();
            device.upload(a.slice(), from);
            device.upload(b.slice(), to);
            let operand = |at| [placed(at, DType::F32, &[count])];
            device.run(Move::Add, &operand(from), &operand(to)).unwrap();
            assert_eq!(download(&mut device, &a, to).floats(), sum);
            assert_eq!(download(&mut device, &a, from), a);

            let (a, b) = (Host::F64(a.floats()), Host::F64(b.floats()));
            device.upload(a.slice(), from);
            device.upload(b.slice(), to);
            let operand = |at| [placed(at, DType::F64, &[count])];
            device.run(Move::Add, &operand(from), &operand(to)).unwrap();
            assert_eq!(download(&mut device, &a, to), Host::F64(sum));
        }
    }
}

fn a_condition_is_read<B: Backend>(backend: &B) {
    let mut device = device(backend);
    for value in [true, false] {
        device.upload(Host::Bool(vec![value]).slice(), at(Memory::Tape, 64));
        let mut found = [!value];
        device.read(at(Memory::Tape, 64), DType::Bool, HostSliceMut::Bool(&mut found));
        assert_eq!(found, [value]);
    }
}

fn a_buffer_that_grows_keeps_its_pieces<B: Backend>(backend: &B) {
    let (values, mut queue) = (Host::I64((0..8).collect()), backend.queue().unwrap());
    let mut buffer = backend.allocate(64).unwrap();
    backend.upload(values.slice(), &mut buffer, 0);
    let mut from = 0;
    for bytes in [64, 4096, 1 << 20] {
        let to = bytes - 64;
        backend.rearrange(&mut queue, &mut buffer, bytes, &[Piece { from, to, bytes: 64 }]).unwrap();
        backend.finish(&mut queue).unwrap();
        let mut found = Host::zeros(DType::I64, 8);
        backend.download(&buffer, to, found.slice_mut());
        assert_eq!(found, values);
        from = to;
    }
}

fn too_much_memory_is_an_error<B: Backend>(backend: &B) {
    let (mut buffer, mut queue) = (backend.allocate(64).unwrap(), backend.queue().unwrap());
    for bytes in [usize::MAX, isize::MAX as usize, 1 << 60] {
        assert_eq!(backend.allocate(bytes).err().and_then(|error| error.bytes), Some(bytes));
        let arranged = backend.rearrange(&mut queue, &mut buffer, bytes, &[]);
        assert_eq!(arranged.err().and_then(|error| error.bytes), Some(bytes));
    }
}

on_every_backend!(
    what_is_uploaded_comes_back,
    copies_are_equal,
    zeros_are_zero,
    sums_are_sums,
    a_condition_is_read,
    a_buffer_that_grows_keeps_its_pieces,
    too_much_memory_is_an_error,
);
