//! Bytes that were cut, changed at random, or made to do harm.

use std::collections::BTreeSet;

use paddle_core::wire::{ProgramDesc, WireError, read_params, write_params};

use crate::tensors::TENSOR;
use crate::{SMALL_PROGRAM, small_program};

/// Decodes; if that succeeds, what is encoded must decode to the same bytes. Whether it succeeded.
fn decodes(bytes: &[u8]) -> bool {
    let Ok(program) = ProgramDesc::decode(bytes) else { return false };
    let first = program.encode_to_vec();
    let again = ProgramDesc::decode(&first).expect("what was encoded decodes").encode_to_vec();
    assert!(first == again, "not stable: {bytes:02x?}");
    true
}

#[test]
fn a_program_cut_at_any_byte() {
    let whole = SMALL_PROGRAM.len();
    // Only the ends of the outermost fields leave a program: no block; the block; the block and the version.
    let valid: Vec<usize> = (0..=whole).filter(|&end| decodes(&SMALL_PROGRAM[..end])).collect();
    assert_eq!(valid, [0, whole - 6, whole]);
    assert_eq!(ProgramDesc::decode(&SMALL_PROGRAM[..whole - 6]).unwrap().blocks, small_program().blocks);
    let error = ProgramDesc::decode(&SMALL_PROGRAM[..whole - 1]).unwrap_err();
    assert!(
        matches!(error, WireError::Malformed { message: "ProgramDesc", offset, .. } if offset == whole - 6)
    );
}

#[test]
fn params_cut_at_any_byte() {
    let names = BTreeSet::from(["a".to_string(), "b".to_string()]);
    let bytes = [TENSOR, TENSOR].concat();
    for end in 0..bytes.len() {
        let broken = if end < TENSOR.len() { "a" } else { "b" };
        match read_params(&bytes[..end], &names) {
            Err(WireError::Parameter { name, cause }) => {
                assert_eq!(name, broken);
                assert!(matches!(*cause, WireError::Truncated { .. }), "{cause:?}");
            }
            other => panic!("cut at {end}: {other:?}"),
        }
    }
}

#[test]
fn lengths_beyond_the_input() {
    // Block, variable, name, of nearly 2^63 bytes.
    let length = [255, 255, 255, 255, 255, 255, 255, 255, 127];
    for path in [&[0x0a][..], &[0x0a, 11, 0x1a], &[0x0a, 13, 0x1a, 11, 0x0a]] {
        let error = ProgramDesc::decode(&[path, &length].concat()).unwrap_err();
        assert!(matches!(error, WireError::Malformed { .. }), "{error:?}");
    }
}

#[test]
fn nesting_is_limited() {
    // Unknown groups are all that can nest; the blocks of a program are a flat list.
    let nested = |depth| [vec![0x3b; depth], vec![0x3c; depth]].concat();
    let program = ProgramDesc::decode(&nested(50)).unwrap();
    assert_eq!(program.encode_to_vec(), nested(50));
    for depth in [10_000, 1_000_000] {
        let error = ProgramDesc::decode(&nested(depth)).unwrap_err();
        assert!(error.to_string().contains("recursion limit"), "{error}");
    }
}

#[test]
fn many_small_messages_are_not_many_large_structs() {
    // A million operators of two bytes each: the first one lacks its type, so none is built.
    let ops = [0x22, 0].repeat(1_000_000);
    let length = [0x84, 0x89, 0x7a]; // 2,000,004
    let bytes = [&[0x0a][..], &length, &[0x08, 0, 0x10, 0], &ops].concat();
    let error = ProgramDesc::decode(&bytes).unwrap_err();
    assert_eq!(error, WireError::MissingField { message: "OpDesc", field: "type", offset: 10 });
}

/// Xorshift: the same bytes on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// Changes, cuts out, repeats or inserts a few bytes.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len().max(1)).min(bytes.len());
            let end = (at + self.below(8)).min(bytes.len());
            match self.below(5) {
                0 if at < end => bytes[at] ^= 1 << self.below(8),
                1 if at < end => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => drop(bytes.drain(at..end)),
                3 => bytes.extend_from_within(at..end),
                _ => bytes.insert(at, self.below(256) as u8),
            }
        }
    }
}

/// Mutates a valid program `rounds` times; some of what comes out must still decode, and some must not.
pub(crate) fn mutate_program(program: &[u8], rounds: usize) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let valid = (0..rounds)
        .filter(|_| {
            let mut bytes = program.to_vec();
            random.mutate(&mut bytes);
            decodes(&bytes)
        })
        .count();
    assert!(0 < valid && valid < rounds, "{valid} of {rounds} decode");
}

#[test]
fn a_program_with_random_changes() {
    mutate_program(SMALL_PROGRAM, 20_000);
}

#[test]
fn params_with_random_changes() {
    let names = BTreeSet::from(["a".to_string()]);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut valid = 0;
    for _ in 0..20_000 {
        let mut bytes = TENSOR.to_vec();
        random.mutate(&mut bytes);
        if let Ok(params) = read_params(&bytes, &names) {
            let written = write_params(&params).expect("what was read can be written");
            assert_eq!(read_params(&written, &names), Ok(params));
            valid += 1;
        }
    }
    assert!(valid > 0);
}
