// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu=chip=sm_80 | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --blockscale-to-gpu=chip=sm_89 | FileCheck %s --check-prefix=CVT

// How threads decode codes in registers. Fields of two codes come to those of two bf16: a
// permutation gives each a half of a word, with copies of its sign above it.

// E4M3 moves by four bits, and 2^120 (0x7B80) makes the elements. NaN is then 480: only that is
// no bf16 any more times 1.125 x 2^119 (0x7B10), and infinity times zero is NaN. sm_89 converts it.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e4m3_e8m0
// CHECK: %[[BOTH:.+]] = llvm.call_intrinsic "llvm.nvvm.prmt"(%[[CODES:.+]], %[[CODES]], %c54656_i32)
// CHECK-NEXT: %[[MOVED:.+]] = arith.shli %[[BOTH]], %c4_i32
// 0x87F0 twice.
// CHECK-NEXT: %[[BITS:.+]] = arith.andi %[[MOVED]], %c-2014279696_i32
// CHECK-NEXT: %[[FIELDS:.+]] = llvm.bitcast %[[BITS]] : i32 to vector<2xbf16>
// CHECK-NEXT: %[[POWER:.+]] = llvm.bitcast %c2072017792_i32
// CHECK-NEXT: %[[MINUS_ZERO:.+]] = llvm.bitcast %c-2147450880_i32
// CHECK-NEXT: %[[VALUE:.+]] = llvm.intr.fma(%[[FIELDS]], %[[POWER]], %[[MINUS_ZERO]])
// CHECK-NEXT: %[[OVERFLOW:.+]] = llvm.bitcast %c2064677648_i32
// CHECK-NEXT: %[[LARGE:.+]] = llvm.intr.fma(%[[VALUE]], %[[OVERFLOW]], %[[MINUS_ZERO]])
// CHECK-NEXT: %[[ZERO:.+]] = llvm.bitcast %c0_i32
// CHECK-NEXT: %[[ELEMENTS:.+]] = llvm.intr.fma(%[[LARGE]], %[[ZERO]], %[[VALUE]])
// CHECK: llvm.intr.fma(%[[ELEMENTS]], %{{.+}}, %[[MINUS_ZERO]])
// CHECK-NOT: nvvm.convert.f8x2
// CVT-LABEL: gpu.func @scaled_mm_bf16_e4m3_e8m0
// CVT-NOT: prmt
// CVT: nvvm.convert.f8x2.to.f16x2 %{{.+}} : vector<2xi8>(f8E4M3FN)
// CVT-NOT: prmt
// CVT: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @e4m3(%a: tensor<16x64xbf16>, %b: tensor<64x64xf8E4M3FN>, %s: tensor<64x2xf8E8M0FNU, #swizzled>) -> tensor<16x64xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 32]
      : tensor<16x64xbf16>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<16x64xbf16>
  return %y : tensor<16x64xbf16>
}

// -----

// E5M2 moves by five bits. Of infinity and NaN the exponent is all ones, so that a sum carries
// above it, and sets the three bits of bf16's exponent there. Then 2^112 (0x7780) keeps them.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e5m2_e8m0
// CHECK: %[[MOVED:.+]] = arith.shli %{{.+}}, %c5_i32
// 0x8FE0, 0x0080 and 0x1000 twice.
// CHECK-NEXT: %[[BITS:.+]] = arith.andi %[[MOVED]], %c-1881108512_i32
// CHECK-NEXT: %[[SUM:.+]] = arith.addi %[[BITS]], %c8388736_i32
// CHECK-NEXT: %[[CARRY:.+]] = arith.andi %[[SUM]], %c268439552_i32
// CHECK-NEXT: %[[ABOVE:.+]] = arith.muli %[[CARRY]], %c7_i32
// CHECK-NEXT: %[[ALL:.+]] = arith.ori %[[BITS]], %[[ABOVE]]
// CHECK-NEXT: %[[FIELDS:.+]] = llvm.bitcast %[[ALL]]
// CHECK-NEXT: %[[POWER:.+]] = llvm.bitcast %c2004907904_i32
// CHECK: llvm.intr.fma(%[[FIELDS]], %[[POWER]], %{{.+}})
// CVT-LABEL: gpu.func @scaled_mm_bf16_e5m2_e8m0
// CVT: arith.shli %{{.+}}, %c5_i32
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @e5m2(%a: tensor<16x64xbf16>, %b: tensor<64x64xf8E5M2>, %s: tensor<64x2xf8E8M0FNU, #swizzled>) -> tensor<16x64xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 32]
      : tensor<16x64xbf16>, tensor<64x64xf8E5M2>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<16x64xbf16>
  return %y : tensor<16x64xbf16>
}

// -----

// Codes of six bits first come to the upper bits of their bytes. They have no NaN.
// CHECK-LABEL: gpu.func @scaled_mm_bf16_e3m2_e8m0
// CHECK: %[[CODES:.+]] = arith.shli %{{.+}}, %c2_i32
// CHECK-NEXT: %[[BOTH:.+]] = llvm.call_intrinsic "llvm.nvvm.prmt"(%[[CODES]], %[[CODES]], %c54656_i32)
// CHECK-NEXT: %[[MOVED:.+]] = arith.shli %[[BOTH]], %c3_i32
// 0x83E0 twice, and 2^124 (0x7D80).
// CHECK-NEXT: %[[BITS:.+]] = arith.andi %[[MOVED]], %c-2082438176_i32
// CHECK-NEXT: %[[FIELDS:.+]] = llvm.bitcast %[[BITS]]
// CHECK-NEXT: %[[POWER:.+]] = llvm.bitcast %c2105572736_i32
// CHECK-NEXT: %[[MINUS_ZERO:.+]] = llvm.bitcast
// CHECK-NEXT: %[[ELEMENTS:.+]] = llvm.intr.fma(%[[FIELDS]], %[[POWER]], %[[MINUS_ZERO]])
// CHECK-NOT: llvm.intr.fma(%[[ELEMENTS]], %{{.+}}, %[[ELEMENTS]])
// CHECK: gpu.return
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @e3m2(%a: tensor<16x64xbf16>, %b: tensor<64x64xf6E3M2FN>, %s: tensor<64x2xf8E8M0FNU, #swizzled>) -> tensor<16x64xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 32]
      : tensor<16x64xbf16>, tensor<64x64xf6E3M2FN>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<16x64xbf16>
  return %y : tensor<16x64xbf16>
}

// -----

// Fixed point (MXINT8): seven bits in the mantissa of 128 (0x4300), in units of 2^-6 (0x3C80), less
// 2 or, where the eighth bit is set, 4 (0xC000 and 0xC080).
// CHECK-LABEL: gpu.func @scaled_mm_bf16_int8_e8m0
// CHECK: %[[BOTH:.+]] = llvm.call_intrinsic "llvm.nvvm.prmt"
// CHECK-NEXT: %[[LOWER:.+]] = arith.andi %[[BOTH]], %c8323199_i32
// CHECK-NEXT: %[[UNITS:.+]] = arith.ori %[[LOWER]], %c1124090624_i32
// CHECK-NEXT: %[[EIGHTH:.+]] = arith.andi %[[BOTH]], %c8388736_i32
// CHECK-NEXT: %[[BEGIN:.+]] = arith.ori %[[EIGHTH]], %c-1073692672_i32
// CHECK-NEXT: %[[X:.+]] = llvm.bitcast %[[UNITS]]
// CHECK-NEXT: %[[UNIT:.+]] = llvm.bitcast %c1015037056_i32
// CHECK-NEXT: %[[Z:.+]] = llvm.bitcast %[[BEGIN]]
// CHECK-NEXT: llvm.intr.fma(%[[X]], %[[UNIT]], %[[Z]])
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @int8(%a: tensor<16x64xbf16>, %b: tensor<64x64xi8>, %s: tensor<64x2xf8E8M0FNU, #swizzled>) -> tensor<16x64xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(none, %s) block [1, 32]
      : tensor<16x64xbf16>, tensor<64x64xi8>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<16x64xbf16>
  return %y : tensor<16x64xbf16>
}
