//! Memory: copies to, from and within it, zeros, sums.

use paddle_core::plan::{Backend, Elements, Location, Memory};
use paddle_core::program::DType;

use crate::draw::Draw;
use crate::host::Host;
use crate::on_every_backend;

const TYPES: [DType; 5] = DType::ALL;
const COUNTS: [usize; 7] = [0, 1, 5, 16, 100, 1000, 20_000];

fn at(memory: Memory, offset: usize) -> Location {
    Location { memory, offset }
}

fn buffers<B: Backend>(backend: &B) -> Vec<B::Buffer> {
    (0..Memory::COUNT).map(|_| backend.allocate(512 * 1024).unwrap()).collect()
}

fn download<B: Backend>(backend: &B, like: &Host, from: Location, buffers: &[B::Buffer]) -> Host {
    let mut host = Host::zeros(like.slice().dtype(), like.len());
    backend.download(&buffers[from.memory as usize], from.offset, host.slice_mut());
    host
}

fn what_is_uploaded_comes_back<B: Backend>(backend: &B) {
    let mut draw = Draw::new(5);
    let mut buffers = buffers(backend);
    for (dtype, count) in TYPES.iter().flat_map(|dtype| COUNTS.map(|count| (*dtype, count))) {
        let values = draw.elements(dtype, count, (-9.0, 9.0));
        for offset in [0, 4096] {
            backend.upload(values.slice(), &mut buffers[Memory::Tape as usize], offset);
            assert_eq!(download(backend, &values, at(Memory::Tape, offset), &buffers), values);
        }
    }
}

fn copies_are_equal<B: Backend>(backend: &B) {
    let mut draw = Draw::new(6);
    let mut buffers = buffers(backend);
    let from = at(Memory::Arena, 64);
    for (dtype, count) in TYPES.iter().flat_map(|dtype| COUNTS.map(|count| (*dtype, count))) {
        let values = draw.elements(dtype, count, (-9.0, 9.0));
        backend.upload(values.slice(), &mut buffers[Memory::Arena as usize], from.offset);
        for to in [at(Memory::Pool, 0), at(Memory::Arena, 256 * 1024)] {
            backend.copy(count * backend.element_bytes(dtype), from, to, &mut buffers);
            assert_eq!(download(backend, &values, to, &buffers), values);
        }
    }
}

fn zeros_are_zero<B: Backend>(backend: &B) {
    let mut buffers = buffers(backend);
    let to = at(Memory::Tape, 128);
    for (dtype, count) in TYPES.iter().flat_map(|dtype| COUNTS.map(|count| (*dtype, count))) {
        backend.poison(&mut buffers[to.memory as usize]);
        backend.zero(Elements { count, dtype }, to, &mut buffers);
        let zeros = Host::zeros(dtype, count);
        assert_eq!(download(backend, &zeros, to, &buffers), zeros);
    }
}

fn sums_are_sums<B: Backend>(backend: &B) {
    let mut draw = Draw::new(7);
    let mut buffers = buffers(backend);
    for count in COUNTS {
        for to in [at(Memory::Pool, 0), at(Memory::Arena, 256 * 1024)] {
            let from = at(Memory::Arena, 0);
            // Quarters: every sum is exact.
            let mut values = || draw.elements(DType::I32, count, (-400.0, 400.0));
            let quarters = |host: Host| match host {
                Host::I32(values) => Host::F32(values.into_iter().map(|value| value as f32 / 4.0).collect()),
                other => other,
            };
            let (a, b) = (quarters(values()), quarters(values()));
            let sum: Vec<f64> = a.floats().iter().zip(b.floats()).map(|(a, b)| a + b).collect();
            backend.upload(a.slice(), &mut buffers[from.memory as usize], from.offset);
            backend.upload(b.slice(), &mut buffers[to.memory as usize], to.offset);
            backend.add(Elements { count, dtype: DType::F32 }, from, to, &mut buffers);
            assert_eq!(download(backend, &a, to, &buffers).floats(), sum);
            assert_eq!(download(backend, &a, from, &buffers), a);

            let (a, b) = (Host::F64(a.floats()), Host::F64(b.floats()));
            backend.upload(a.slice(), &mut buffers[from.memory as usize], from.offset);
            backend.upload(b.slice(), &mut buffers[to.memory as usize], to.offset);
            backend.add(Elements { count, dtype: DType::F64 }, from, to, &mut buffers);
            assert_eq!(download(backend, &a, to, &buffers), Host::F64(sum));
        }
    }
}

fn a_condition_is_read<B: Backend>(backend: &B) {
    let mut buffers = buffers(backend);
    for value in [true, false] {
        backend.upload(Host::Bool(vec![value]).slice(), &mut buffers[Memory::Tape as usize], 64);
        assert_eq!(backend.test(at(Memory::Tape, 64), &buffers), value);
    }
}

fn a_buffer_that_grows_keeps_its_contents<B: Backend>(backend: &B) {
    let values = Host::I64((0..8).collect());
    let mut buffer = backend.allocate(64).unwrap();
    backend.upload(values.slice(), &mut buffer, 0);
    for bytes in [10, 64, 65, 4096, 1 << 20] {
        backend.grow(&mut buffer, bytes).unwrap();
        let mut found = Host::zeros(DType::I64, 8);
        backend.download(&buffer, 0, found.slice_mut());
        assert_eq!(found, values);
    }
    let end = (1 << 20) - 64;
    backend.upload(values.slice(), &mut buffer, end);
    let mut found = Host::zeros(DType::I64, 8);
    backend.download(&buffer, end, found.slice_mut());
    assert_eq!(found, values);
}

fn too_much_memory_is_an_error<B: Backend>(backend: &B) {
    let mut buffer = backend.allocate(64).unwrap();
    for bytes in [usize::MAX, isize::MAX as usize, 1 << 60] {
        assert_eq!(backend.allocate(bytes).err().and_then(|error| error.bytes), Some(bytes));
        assert_eq!(backend.grow(&mut buffer, bytes).err().and_then(|error| error.bytes), Some(bytes));
    }
}

on_every_backend!(
    what_is_uploaded_comes_back,
    copies_are_equal,
    zeros_are_zero,
    sums_are_sums,
    a_condition_is_read,
    a_buffer_that_grows_keeps_its_contents,
    too_much_memory_is_an_error,
);
