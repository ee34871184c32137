//! Files of `paddle.save`, which the real PaddlePaddle 2.6 and 3.3 wrote: `saved_values/make.py`.

use std::fs;
use std::path::{Path, PathBuf};

use paddle_core::convert::load_saved;
use paddle_core::wire::VarKind;
use paddle_core::wire::pickle::{PickleError, PickleFault, read_saved};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved_values")
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

fn all() -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let saved = files.filter(|path| path.extension().is_some_and(|extension| extension != "py"));
    let mut found: Vec<_> = saved
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_string(), fs::read(path).unwrap()))
        .collect();
    found.sort();
    assert_eq!(found.len(), 10);
    found
}

fn floats(data: &[u8]) -> Vec<f32> {
    data.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

#[test]
fn parameters_of_each_release_and_protocol() {
    for release in ["2.6", "3.3"] {
        for protocol in 2..=4 {
            let name = format!("{release}_protocol{protocol}.pdparams");
            let saved = read_saved(&bytes(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            let names: Vec<&str> = saved.arrays.keys().map(String::as_str).collect();
            assert_eq!(
                names,
                ["0.bias", "0.weight", "1._mean", "1._variance", "1.bias", "1.weight"],
                "{name}"
            );
            let weight = &saved.arrays["0.weight"];
            assert_eq!((weight.element, &weight.dims[..]), (VarKind::Fp32, &[3, 2][..]));
            assert_eq!(floats(&weight.data), [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]);
            assert_eq!(floats(&saved.arrays["0.bias"].data), [0.5, -0.25]);
            assert_eq!(saved.parameters["0.weight"], "linear_0.w_0");
            let (program, records) = load_saved(saved).unwrap();
            assert_eq!(floats(&records["linear_0.w_0"].data), [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]);
            assert_eq!(program.parameters().count(), 6);
            program.verify().unwrap();
        }
    }
}

#[test]
fn states_of_an_updater_and_tensors_of_other_types() {
    for release in ["2.6", "3.3"] {
        let saved = read_saved(&bytes(&format!("{release}.pdopt"))).unwrap();
        let (_, records) = load_saved(saved.clone()).unwrap();
        assert_eq!(records["linear_0.w_0_moment1_0"].dims, [3, 2]);
        assert!(saved.others.contains(&"LR_Scheduler.last_lr".to_string()), "{:?}", saved.others);
        let saved = read_saved(&bytes(&format!("{release}_mixed.pdparams"))).unwrap();
        let elements: Vec<VarKind> = saved.arrays.values().map(|record| record.element).collect();
        assert_eq!(elements, [VarKind::Bf16, VarKind::Int64, VarKind::Bool]);
        assert_eq!(saved.others, ["rate"]);
        // Numbers in half precision become those of single precision.
        let (_, records) = load_saved(saved).unwrap();
        assert_eq!(floats(&records["half"].data), [1.0, 1.0]);
    }
}

/// Every beginning of every file is an error at a byte of it.
#[test]
fn files_that_are_cut_off() {
    for (name, whole) in all() {
        for end in 0..whole.len() {
            let error = read_saved(&whole[..end]).unwrap_err();
            assert!(error.offset <= end, "{name} until {end}: {error}");
            let is_said = matches!(error.fault, PickleFault::Truncated | PickleFault::NoPickle);
            assert!(is_said, "{name} until {end}: {error}");
        }
        let longer = [&whole[..], b"."].concat();
        assert_eq!(
            read_saved(&longer).unwrap_err(),
            PickleError { offset: whole.len(), fault: PickleFault::Trailing }
        );
    }
}

/// Each bit of every file that is flipped gives values or an error, no panic, and no more memory than the file has bytes.
#[test]
fn files_with_a_flipped_bit() {
    for (_, whole) in all() {
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                if let Ok(saved) = read_saved(&damaged) {
                    let held: usize = saved.arrays.values().map(|record| record.data.len()).sum();
                    assert!(held <= whole.len());
                    let _ = load_saved(saved);
                }
            }
        }
    }
}

/// What Python would run is refused at the byte where it is named.
#[test]
fn names_and_instructions_that_arrays_do_not_take() {
    let of = |bytes: &[u8]| read_saved(bytes).unwrap_err();
    let error = of(b"\x80\x02cposix\nsystem\nX\x02\0\0\0ls\x85R.");
    assert_eq!(error, PickleError { offset: 2, fault: PickleFault::Global("posix.system".into()) });
    let error = of(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.");
    assert_eq!(error, PickleError { offset: 18, fault: PickleFault::Global("builtins.eval".into()) });
    // Objects of classes, and names of other files.
    for code in [b'i', b'o', 0x81, 0x92, b'P', b'Q', 0x97] {
        assert_eq!(of(&[0x80, 2, code]), PickleError { offset: 2, fault: PickleFault::Instruction(code) });
    }
    assert_eq!(of(b"\x80\x05N.").fault, PickleFault::NoPickle);
    assert_eq!(of(b"").fault, PickleFault::NoPickle);
    assert_eq!(of(b"\x80\x02N.").fault, PickleFault::NoDictionary);
    let sliced = of(b"\x80\x02}X\x15\0\0\0UnpackBigParamInfor@@}s.");
    assert_eq!(sliced.fault, PickleFault::Slices);
    for wrong in [&b"\x80\x02u."[..], b"\x80\x02.", b"\x80\x02(K\x01s.", b"\x80\x02h\x07.", b"\x80\x02}b."] {
        assert!(matches!(of(wrong).fault, PickleFault::Operand(_)), "{wrong:?}");
    }
}

/// One array under many names would take more memory than the file; so would a dictionary in itself.
#[test]
fn memory_is_bounded_by_the_file() {
    let array = b"cnumpy\nndarray\nq\x010cnumpy.core.multiarray\n_reconstruct\nh\x01K\0\x85X\x01\0\0\0b\x87R(K\x01K\x40\x85cnumpy\ndtype\nX\x02\0\0\0u1\x85R\x89";
    let mut bytes = [&b"\x80\x03"[..], array, b"C\x40", &[7; 64], b"tbq\x020}("].concat();
    let repeat = |bytes: &mut Vec<u8>, count: u8| {
        for k in 0..count {
            bytes.extend([b'X', 1, 0, 0, 0, b'a' + k, b'h', 2]);
        }
        bytes.extend(b"u.");
    };
    let mut once = bytes.clone();
    repeat(&mut once, 1);
    assert_eq!(read_saved(&once).unwrap().arrays["a"].data, [7; 64]);
    repeat(&mut bytes, 20);
    assert_eq!(read_saved(&bytes).unwrap_err().fault, PickleFault::Repeated);
    let cyclic = read_saved(b"\x80\x02}q\0X\x01\0\0\0ah\0s.").unwrap();
    assert!(cyclic.arrays.is_empty());
    // A length that the file does not have.
    let long = read_saved(b"\x80\x04}\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.").unwrap_err();
    assert_eq!(long, PickleError { offset: 3, fault: PickleFault::Truncated });
}
