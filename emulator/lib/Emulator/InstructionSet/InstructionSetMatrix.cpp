//===- InstructionSetMatrix.cpp - Warp and warpgroup matrices -------------===//
//===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/InstructionForm.h"

namespace blockscale::emulator {

/// PTX ISA, sections "Warp Level Matrix" and "Asynchronous Warpgroup Level
/// Matrix" instructions. Fragments are in 32-bit registers.
static constexpr InstructionEntry kMatrixInstructions[] = {
    {"ldmatrix", ".sync.aligned.m8n8.x1|x2|x4{.trans}{.$cta}.b16", "m:b32 a"},
    {"ldmatrix", ".sync.aligned.m16n16.x1|x2.trans{.$cta}.b8", "m:b32 a"},
    {"ldmatrix",
     ".sync.aligned.m8n16.x1|x2|x4{.$cta}.b8x16.b6x16_p32|b4x16_p64",
     "m:b32 a"},
    {"ldmatrix",
     ".sync.aligned.m16n16.x1|x2.trans{.$cta}.b8x16.b6x16_p32|b4x16_p64",
     "m:b32 a"},
    {"stmatrix", ".sync.aligned.m8n8.x1|x2|x4{.trans}{.$cta}.b16", "a m:b32"},
    {"stmatrix", ".sync.aligned.m16n8.x1|x2|x4.trans{.$cta}.b8", "a m:b32"},
    {"movmatrix", ".sync.aligned.m8n8.trans.b16", "d:b32 s:b32"},

    {"mma", ".sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
     "v2:b32 v2:b32 v1:b32 v2:b32"},
    {"mma", ".sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
     "v4:f32 v2:b32 v1:b32 v4:f32"},
    {"mma", ".sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32",
     "v4:f32 v2:b32 v1:b32 v4:f32"},
    {"mma", ".sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
     "v2:b32 v4:b32 v2:b32 v2:b32"},
    {"mma", ".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
     "v4:f32 v4:b32 v2:b32 v4:f32"},
    {"mma", ".sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
     "v4:f32 v4:b32 v2:b32 v4:f32"},
    {"mma", ".sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
     "v4:f32 v2:b32 v1:b32 v4:f32"},
    {"mma", ".sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
     "v4:f32 v4:b32 v2:b32 v4:f32"},
    {"mma", ".sync.aligned.m16n8k16.row.col.f32.e4m3|e5m2.e4m3|e5m2.f32",
     "v4:f32 v2:b32 v1:b32 v4:f32"},
    {"mma", ".sync.aligned.m16n8k16.row.col.f16.e4m3|e5m2.e4m3|e5m2.f16",
     "v2:b32 v2:b32 v1:b32 v2:b32"},
    {"mma", ".sync.aligned.m16n8k32.row.col.f32.e4m3|e5m2.e4m3|e5m2.f32",
     "v4:f32 v4:b32 v2:b32 v4:f32"},
    {"mma", ".sync.aligned.m16n8k32.row.col.f16.e4m3|e5m2.e4m3|e5m2.f16",
     "v2:b32 v4:b32 v2:b32 v2:b32"},
    {"mma",
     ".sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32"
     ".e4m3|e5m2|e3m2|e2m3|e2m1.e4m3|e5m2|e3m2|e2m3|e2m1.f32",
     "v4:f32 v4:b32 v2:b32 v4:f32"},
    {"mma",
     ".sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16"
     ".e4m3|e5m2|e3m2|e2m3|e2m1.e4m3|e5m2|e3m2|e2m3|e2m1.f16",
     "v2:b32 v4:b32 v2:b32 v2:b32"},
    {"mma",
     ".sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{.scale_vec::2X}"
     ".f32.e2m1.e2m1.f32.ue8m0",
     "v4:f32 v4:b32 v2:b32 v4:f32 v1:b32 v2:b16 v1:b32 v2:b16"},
    {"mma",
     ".sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale"
     ".scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
     "v4:f32 v4:b32 v2:b32 v4:f32 v1:b32 v2:b16 v1:b32 v2:b16"},
    {"mma",
     ".sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale"
     ".scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
     "v4:f32 v4:b32 v2:b32 v4:f32 v1:b32 v2:b16 v1:b32 v2:b16"},
    {"mma",
     ".sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale"
     "{.scale_vec::1X}.f32"
     ".e4m3|e5m2|e3m2|e2m3|e2m1.e4m3|e5m2|e3m2|e2m3|e2m1.f32.ue8m0",
     "v4:f32 v4:b32 v2:b32 v4:f32 v1:b32 v2:b16 v1:b32 v2:b16"},
    {"mma", ".sync.aligned.m8n8k16.row.col{.satfinite}.s32.u8|s8.u8|s8.s32",
     "v2:s32 v1:b32 v1:b32 v2:s32"},
    {"mma", ".sync.aligned.m16n8k16.row.col{.satfinite}.s32.u8|s8.u8|s8.s32",
     "v4:s32 v2:b32 v1:b32 v4:s32"},
    {"mma", ".sync.aligned.m16n8k32.row.col{.satfinite}.s32.u8|s8.u8|s8.s32",
     "v4:s32 v4:b32 v2:b32 v4:s32"},
    {"mma", ".sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
     "v2:f64 v1:f64 v1:f64 v2:f64"},

    // The metadata of A and the sparsity selector stand behind C.
    {"mma",
     ".sync.aligned.m16n8k64.row.col.sp|sp::ordered_metadata{.satfinite}"
     ".s32.u8|s8.u8|s8.s32",
     "v4:s32 v4:b32 v4:b32 v4:s32 v1:b32 i"},
    {"mma",
     ".sync.aligned.m16n8k64.row.col.sp|sp::ordered_metadata"
     ".f32.e4m3|e5m2.e4m3|e5m2.f32",
     "v4:f32 v4:b32 v4:b32 v4:f32 v1:b32 i"},
    {"mma",
     ".sync.aligned.m16n8k64.row.col.sp|sp::ordered_metadata"
     ".f16.e4m3|e5m2.e4m3|e5m2.f16",
     "v2:b32 v4:b32 v4:b32 v2:b32 v1:b32 i"},
    {"mma",
     ".sync.aligned.m16n8k64.row.col.sp::ordered_metadata.kind::f8f6f4.f32"
     ".e4m3|e5m2|e3m2|e2m3|e2m1.e4m3|e5m2|e3m2|e2m3|e2m1.f32",
     "v4:f32 v4:b32 v4:b32 v4:f32 v1:b32 i"},
    {"mma",
     ".sync.aligned.m16n8k64.row.col.sp::ordered_metadata.kind::f8f6f4.f16"
     ".e4m3|e5m2|e3m2|e2m3|e2m1.e4m3|e5m2|e3m2|e2m3|e2m1.f16",
     "v2:b32 v4:b32 v4:b32 v2:b32 v1:b32 i"},
    {"mma",
     ".sync.aligned.m16n8k128.row.col.sp::ordered_metadata.kind::mxf4"
     ".block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0",
     "v4:f32 v4:b32 v4:b32 v4:f32 v1:b32 i v1:b32 v2:b16 v1:b32 v2:b16"},
    {"mma",
     ".sync.aligned.m16n8k128.row.col.sp::ordered_metadata.kind::mxf4nvf4"
     ".block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
     "v4:f32 v4:b32 v4:b32 v4:f32 v1:b32 i v1:b32 v2:b16 v1:b32 v2:b16"},
    {"mma",
     ".sync.aligned.m16n8k128.row.col.sp::ordered_metadata.kind::mxf4nvf4"
     ".block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
     "v4:f32 v4:b32 v4:b32 v4:f32 v1:b32 i v1:b32 v2:b16 v1:b32 v2:b16"},
    {"mma",
     ".sync.aligned.m16n8k64.row.col.sp::ordered_metadata.kind::mxf8f6f4"
     ".block_scale{.scale_vec::1X}.f32"
     ".e4m3|e5m2|e3m2|e2m3|e2m1.e4m3|e5m2|e3m2|e2m3|e2m1.f32.ue8m0",
     "v4:f32 v4:b32 v4:b32 v4:f32 v1:b32 i v1:b32 v2:b16 v1:b32 v2:b16"},

    {"wgmma.fence", ".sync.aligned", ""},
    {"wgmma.commit_group", ".sync.aligned", ""},
    {"wgmma.wait_group", ".sync.aligned", "i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k16.f16|f32.f16.f16",
     "g:0 s:b64 s:b64 s:pred i i i i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k16.f16|f32.f16.f16",
     "g:0 v4:b32 s:b64 s:pred i i i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k16.f32.bf16.bf16",
     "g:0 s:b64 s:b64 s:pred i i i i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k16.f32.bf16.bf16",
     "g:0 v4:b32 s:b64 s:pred i i i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k8.f32.tf32.tf32",
     "g:0 s:b64 s:b64 s:pred i i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k8.f32.tf32.tf32",
     "g:0 v4:b32 s:b64 s:pred i i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k32.f16|f32.e4m3|e5m2.e4m3|e5m2",
     "g:0 s:b64 s:b64 s:pred i i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k32.f16|f32.e4m3|e5m2.e4m3|e5m2",
     "g:0 v4:b32 s:b64 s:pred i i"},
    {"wgmma.mma_async", ".sync.aligned.$m64k32{.satfinite}.s32.u8|s8.u8|s8",
     "g:0 s:b64 s:b64 s:pred"},
    {"wgmma.mma_async", ".sync.aligned.$m64k32{.satfinite}.s32.u8|s8.u8|s8",
     "g:0 v4:b32 s:b64 s:pred"},
};

llvm::ArrayRef<InstructionEntry> getMatrixInstructions() {
  return kMatrixInstructions;
}

} // namespace blockscale::emulator
