//! The wire level: PaddlePaddle's files are read and written byte for byte, and no bytes make the readers panic.

mod files;
mod hostile;
mod messages;
mod operators;
mod tensors;

use paddle_core::wire::{
    BlockDesc, LodTensorDesc, OpAttr, OpDesc, ProgramDesc, TensorDesc, VarDesc, VarKind, VarType, Version,
};

/// A program of one operator, with a field of most kinds.
fn small_program() -> ProgramDesc {
    let tensor = TensorDesc { data_type: VarKind::Fp32.into(), dims: vec![-1, 3], ..Default::default() };
    let lod_tensor = LodTensorDesc { tensor, lod_level: Some(0), ..Default::default() };
    let var = VarDesc {
        name: "w".into(),
        r#type: VarType {
            r#type: VarKind::LodTensor.into(),
            lod_tensor: Some(lod_tensor),
            ..Default::default()
        },
        persistable: Some(true),
        stop_gradient: Some(false),
        ..Default::default()
    };
    let op = OpDesc::new("scale")
        .with_input("X", ["w"])
        .with_input("ScaleTensor", [""; 0])
        .with_output("Out", ["y"])
        .with_attr(OpAttr::float("scale", 1.5))
        .with_attr(OpAttr::ints("axes", [0, -1]));
    let block = BlockDesc { idx: 0, parent_idx: -1, vars: vec![var], ops: vec![op], ..Default::default() };
    let version = Version { version: Some(2_006_002), ..Default::default() };
    ProgramDesc { blocks: vec![block], version: Some(version), ..Default::default() }
}

/// The bytes of [`small_program`], by hand.
#[rustfmt::skip]
const SMALL_PROGRAM: &[u8] = &[
    0x0a, 0x80, 1,                                                // ProgramDesc.blocks
        0x08, 0,                                                  //   idx
        0x10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1,     //   parent_idx: -1
        0x1a, 32,                                                 //   vars
            0x0a, 1, b'w',                                        //     name
            0x12, 23,                                             //     type
                0x08, 7,                                          //       type: LOD_TENSOR
                0x1a, 19,                                         //       lod_tensor
                    0x0a, 15,                                     //         tensor
                        0x08, 5,                                  //           data_type: FP32
                        0x10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, // dims: -1
                        // (dims, unpacked: one key for each)
                        0x10, 3,
                    0x10, 0,                                      //         lod_level
            0x18, 1,                                              //     persistable
            0x30, 0,                                              //     stop_gradient
        0x22, 79,                                                 //   ops
            0x0a, 6, 0x0a, 1, b'X', 0x12, 1, b'w',                //     inputs
            0x0a, 13, 0x0a, 11, b'S', b'c', b'a', b'l', b'e', b'T', b'e', b'n', b's', b'o', b'r',
            0x12, 8, 0x0a, 3, b'O', b'u', b't', 0x12, 1, b'y',    //     outputs
            0x1a, 5, b's', b'c', b'a', b'l', b'e',                //     type
            0x22, 14,                                             //     attrs
                0x0a, 5, b's', b'c', b'a', b'l', b'e',            //       name
                0x10, 1,                                          //       type: FLOAT
                0x25, 0, 0, 0xc0, 0x3f,                           //       f: 1.5
            0x22, 21,                                             //     attrs
                0x0a, 4, b'a', b'x', b'e', b's',                  //       name
                0x10, 3,                                          //       type: INTS
                0x30, 0,                                          //       ints: 0
                0x30, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, //   ints: -1
    0x22, 4,                                                      // ProgramDesc.version
        0x08, 0xf2, 0xb7, 0x7a,                                   //   version: 2006002
];
