"""Writes the models of these cases, with the real PaddlePaddle (2.6.2): one that is cut off, and one of operators that are not supported."""

from paddle.base.proto import framework_pb2

with open("../../included/small.pdmodel", "rb") as file, open("damaged.pdmodel", "wb") as damaged:
    damaged.write(file.read(900))

program = framework_pb2.ProgramDesc()
block = program.blocks.add(idx=0, parent_idx=-1)
for kind in ["psroi_pool", "fusion_lstm"]:
    block.ops.add(type=kind)
with open("unsupported.pdmodel", "wb") as file:
    file.write(program.SerializeToString())
