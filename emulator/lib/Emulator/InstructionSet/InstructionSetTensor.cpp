//===- InstructionSetTensor.cpp - Tensor memory, tcgen05 ------------------===//
// cores ===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/InstructionForm.h"

namespace blockscale::emulator {

/// PTX ISA, section "TensorCore 5th Generation Family Instructions".
static constexpr InstructionEntry kTensorInstructions[] = {
    {"tcgen05.alloc", ".$group.sync.aligned{.shared::cta}.b32", "a s:u32"},
    {"tcgen05.dealloc", ".$group.sync.aligned.b32", "s:b32 s:u32"},
    {"tcgen05.relinquish_alloc_permit", ".$group.sync.aligned", ""},
    {"tcgen05.fence::before_thread_sync", "", ""},
    {"tcgen05.fence::after_thread_sync", "", ""},
    {"tcgen05.wait::ld", ".sync.aligned", ""},
    {"tcgen05.wait::st", ".sync.aligned", ""},

    {"tcgen05.ld",
     ".sync.aligned.16x64b|32x32b.x1|x2|x4|x8|x16|x32|x64|x128"
     "{.pack::16b}.b32",
     "z:b32 a"},
    {"tcgen05.ld",
     ".sync.aligned.16x128b.x1|x2|x4|x8|x16|x32|x64{.pack::16b}.b32",
     "z:b32 a"},
    {"tcgen05.ld", ".sync.aligned.16x256b.x1|x2|x4|x8|x16|x32{.pack::16b}.b32",
     "z:b32 a"},
    {"tcgen05.ld",
     ".sync.aligned.16x32bx2.x1|x2|x4|x8|x16|x32|x64|x128{.pack::16b}.b32",
     "z:b32 a i"},
    {"tcgen05.st",
     ".sync.aligned.16x64b|32x32b.x1|x2|x4|x8|x16|x32|x64|x128"
     "{.unpack::16b}.b32",
     "a z:b32"},
    {"tcgen05.st",
     ".sync.aligned.16x128b.x1|x2|x4|x8|x16|x32|x64{.unpack::16b}.b32",
     "a z:b32"},
    {"tcgen05.st",
     ".sync.aligned.16x256b.x1|x2|x4|x8|x16|x32{.unpack::16b}.b32", "a z:b32"},
    {"tcgen05.st",
     ".sync.aligned.16x32bx2.x1|x2|x4|x8|x16|x32|x64|x128{.unpack::16b}.b32",
     "a i z:b32"},

    {"tcgen05.cp", ".$group.128x256b|4x256b|128x128b", "a s:b64"},
    {"tcgen05.cp", ".$group.64x128b.warpx2::02_13|warpx2::01_23", "a s:b64"},
    {"tcgen05.cp", ".$group.32x128b.warpx4", "a s:b64"},
    {"tcgen05.cp", ".$group.128x256b|4x256b|128x128b.b8x16.b6x16_p32|b4x16_p64",
     "a s:b64"},
    {"tcgen05.cp",
     ".$group.64x128b.warpx2::02_13|warpx2::01_23.b8x16.b6x16_p32|b4x16_p64",
     "a s:b64"},
    {"tcgen05.cp", ".$group.32x128b.warpx4.b8x16.b6x16_p32|b4x16_p64",
     "a s:b64"},
    {"tcgen05.shift", ".$group.down", "a"},
    {"tcgen05.commit",
     ".$group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64",
     "a M:b16"},

    // D, A (descriptor or tensor memory), B, instruction descriptor.
    {"tcgen05.mma", ".$group.kind::f16|kind::tf32|kind::f8f6f4{.$collector}",
     "a s:b64 s:b64 s:b32 s:pred i?"},
    {"tcgen05.mma", ".$group.kind::f16|kind::tf32|kind::f8f6f4{.$collector}",
     "a s:b64 s:b64 s:b32 v:b32 s:pred i?"},
    {"tcgen05.mma", ".$group.kind::f16|kind::tf32|kind::f8f6f4{.$collector}",
     "a a s:b64 s:b32 s:pred i?"},
    {"tcgen05.mma",
     ".$group.kind::f16|kind::tf32|kind::f8f6f4.ashift{.collector::a::lastuse|"
     "collector::a::discard}",
     "a a s:b64 s:b32 s:pred i?"},
    {"tcgen05.mma", ".$group.kind::f16|kind::tf32|kind::f8f6f4{.$collector}",
     "a a s:b64 s:b32 v:b32 s:pred i?"},
    {"tcgen05.mma",
     ".$group.kind::f16|kind::tf32|kind::f8f6f4.ashift{.collector::a::lastuse|"
     "collector::a::discard}",
     "a a s:b64 s:b32 v:b32 s:pred i?"},
    {"tcgen05.mma", ".$group.kind::i8{.$collector}",
     "a s:b64 s:b64 s:b32 s:pred"},
    {"tcgen05.mma", ".$group.kind::i8{.$collector}",
     "a s:b64 s:b64 s:b32 v:b32 s:pred"},
    {"tcgen05.mma", ".$group.kind::i8{.$collector}", "a a s:b64 s:b32 s:pred"},
    {"tcgen05.mma",
     ".$group.kind::i8.ashift{.collector::a::lastuse|collector::a::discard}",
     "a a s:b64 s:b32 s:pred"},
    {"tcgen05.mma", ".$group.kind::i8{.$collector}",
     "a a s:b64 s:b32 v:b32 s:pred"},
    {"tcgen05.mma",
     ".$group.kind::i8.ashift{.collector::a::lastuse|collector::a::discard}",
     "a a s:b64 s:b32 v:b32 s:pred"},
    {"tcgen05.mma",
     ".$group.kind::mxf8f6f4.block_scale{.scale_vec::1X|block32}{.$collector}",
     "a s:b64 s:b64 s:b32 a a s:pred"},
    {"tcgen05.mma",
     ".$group.kind::mxf8f6f4.block_scale{.scale_vec::1X|block32}{.$collector}",
     "a a s:b64 s:b32 a a s:pred"},
    {"tcgen05.mma",
     ".$group.kind::mxf4.block_scale{.scale_vec::2X|block32}{.$collector}",
     "a s:b64 s:b64 s:b32 a a s:pred"},
    {"tcgen05.mma",
     ".$group.kind::mxf4.block_scale{.scale_vec::2X|block32}{.$collector}",
     "a a s:b64 s:b32 a a s:pred"},
    {"tcgen05.mma",
     ".$group.kind::mxf4nvf4.block_scale"
     ".scale_vec::2X|scale_vec::4X|block16|block32{.$collector}",
     "a s:b64 s:b64 s:b32 a a s:pred"},
    {"tcgen05.mma",
     ".$group.kind::mxf4nvf4.block_scale"
     ".scale_vec::2X|scale_vec::4X|block16|block32{.$collector}",
     "a a s:b64 s:b32 a a s:pred"},
    // The metadata of A stand behind B.
    {"tcgen05.mma.sp", ".$group.kind::f16|kind::tf32|kind::f8f6f4{.$collector}",
     "a s:b64 s:b64 a s:b32 s:pred i?"},
    {"tcgen05.mma.sp", ".$group.kind::f16|kind::tf32|kind::f8f6f4{.$collector}",
     "a s:b64 s:b64 a s:b32 v:b32 s:pred i?"},
    {"tcgen05.mma.sp", ".$group.kind::f16|kind::tf32|kind::f8f6f4{.$collector}",
     "a a s:b64 a s:b32 s:pred i?"},
    {"tcgen05.mma.sp",
     ".$group.kind::f16|kind::tf32|kind::f8f6f4.ashift{.collector::a::lastuse|"
     "collector::a::discard}",
     "a a s:b64 a s:b32 s:pred i?"},
    {"tcgen05.mma.sp", ".$group.kind::f16|kind::tf32|kind::f8f6f4{.$collector}",
     "a a s:b64 a s:b32 v:b32 s:pred i?"},
    {"tcgen05.mma.sp",
     ".$group.kind::f16|kind::tf32|kind::f8f6f4.ashift{.collector::a::lastuse|"
     "collector::a::discard}",
     "a a s:b64 a s:b32 v:b32 s:pred i?"},
    {"tcgen05.mma.sp", ".$group.kind::i8{.$collector}",
     "a s:b64 s:b64 a s:b32 s:pred"},
    {"tcgen05.mma.sp", ".$group.kind::i8{.$collector}",
     "a s:b64 s:b64 a s:b32 v:b32 s:pred"},
    {"tcgen05.mma.sp", ".$group.kind::i8{.$collector}",
     "a a s:b64 a s:b32 s:pred"},
    {"tcgen05.mma.sp",
     ".$group.kind::i8.ashift{.collector::a::lastuse|collector::a::discard}",
     "a a s:b64 a s:b32 s:pred"},
    {"tcgen05.mma.sp", ".$group.kind::i8{.$collector}",
     "a a s:b64 a s:b32 v:b32 s:pred"},
    {"tcgen05.mma.sp",
     ".$group.kind::i8.ashift{.collector::a::lastuse|collector::a::discard}",
     "a a s:b64 a s:b32 v:b32 s:pred"},
    {"tcgen05.mma.sp",
     ".$group.kind::mxf8f6f4.block_scale{.scale_vec::1X|block32}{.$collector}",
     "a s:b64 s:b64 a s:b32 a a s:pred"},
    {"tcgen05.mma.sp",
     ".$group.kind::mxf8f6f4.block_scale{.scale_vec::1X|block32}{.$collector}",
     "a a s:b64 a s:b32 a a s:pred"},
    {"tcgen05.mma.sp",
     ".$group.kind::mxf4.block_scale{.scale_vec::2X|block32}{.$collector}",
     "a s:b64 s:b64 a s:b32 a a s:pred"},
    {"tcgen05.mma.sp",
     ".$group.kind::mxf4.block_scale{.scale_vec::2X|block32}{.$collector}",
     "a a s:b64 a s:b32 a a s:pred"},
    {"tcgen05.mma.sp",
     ".$group.kind::mxf4nvf4.block_scale"
     ".scale_vec::2X|scale_vec::4X|block16|block32{.$collector}",
     "a s:b64 s:b64 a s:b32 a a s:pred"},
    {"tcgen05.mma.sp",
     ".$group.kind::mxf4nvf4.block_scale"
     ".scale_vec::2X|scale_vec::4X|block16|block32{.$collector}",
     "a a s:b64 a s:b32 a a s:pred"},
};

llvm::ArrayRef<InstructionEntry> getTensorInstructions() {
  return kTensorInstructions;
}

} // namespace blockscale::emulator
