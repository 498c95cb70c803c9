// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

// From the amax of a block to its E8M0 byte (numerics/BlockScale.h), and the byte
// to the reciprocal that elements are multiplied by. The amax is the high element of
// a pair without its sign.

// rceil: amax * (1/448) rounded up. The byte of the missing second block is that
// of 0, which is padding's.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k32(
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[INVERSE:.+]] = arith.constant 0.00223214296 : f32
// CHECK-DAG: %[[SUBNORMAL:.+]] = arith.constant 4194304 : i32
// CHECK-DAG: %[[NAN:.+]] = arith.constant 2143289344 : i32
// CHECK: %[[PAIR:.+]] = llvm.bitcast %{{.+}} : vector<2xbf16> to i32
// CHECK: %[[AMAXBITS:.+]] = arith.andi %[[PAIR]], %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[AMAXBITS]] : i32 to f32
// CHECK: %[[SCALE:.+]] = arith.mulf %[[AMAX]], %[[INVERSE]] : f32
// CHECK: %[[CODES:.+]] = nvvm.convert.f32x2.to.f8x2 %[[ZERO]], %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rp>} : i16(f8E8M0FNU)
// CHECK: %[[BYTES:.+]] = arith.extui %[[CODES]] : i16 to i32
// CHECK: %[[BYTE:.+]] = arith.andi %[[BYTES]], %c255_i32
// CHECK: %[[EXPONENT:.+]] = arith.subi %c254_i32, %[[BYTE]]
// CHECK: %[[BITS:.+]] = arith.shli %[[EXPONENT]], %c23_i32
// CHECK: %[[IS254:.+]] = arith.cmpi eq, %[[BYTE]], %c254_i32
// CHECK: %[[FINITE:.+]] = arith.select %[[IS254]], %[[SUBNORMAL]], %[[BITS]]
// CHECK: %[[IS255:.+]] = arith.cmpi eq, %[[BYTE]], %c255_i32
// CHECK: %[[ALL:.+]] = arith.select %[[IS255]], %[[NAN]], %[[FINITE]]
// CHECK: %[[FACTOR:.+]] = arith.bitcast %[[ALL]] : i32 to f32
// CHECK: llvm.insertelement %[[FACTOR]]
// CHECK: nvvm.convert.f32x2.to.f8x2 %{{.+}}, %{{.+}} {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
func.func @rceil(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// rceil_sat saturates; E5M2 has its own 1 / largest value.
// CHECK-LABEL: gpu.func @quantize_e5m2_rceil_sat_bf16_k32(
// CHECK-DAG: %[[INVERSE:.+]] = arith.constant 1.74386169E-5 : f32
// CHECK: %[[PAIR:.+]] = llvm.bitcast %{{.+}} : vector<2xbf16> to i32
// CHECK: %[[AMAXBITS:.+]] = arith.andi %[[PAIR]], %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[AMAXBITS]] : i32 to f32
// CHECK: %[[SCALE:.+]] = arith.mulf %[[AMAX]], %[[INVERSE]] : f32
// CHECK: nvvm.convert.f32x2.to.f8x2 %{{.+}}, %[[SCALE]] {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E8M0FNU)
// CHECK: nvvm.convert.f32x2.to.f8x2 %{{.+}}, %{{.+}} {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E5M2)
func.func @rceil_sat(%x: memref<?x32xbf16>, %q: memref<?x32xf8E5M2>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E5M2>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E5M2>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe rceil_sat : tensor<?x32xbf16> -> tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// floor: the exponent less 8, at least 0; 255 from infinity on.
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_bf16_k32(
// CHECK: %[[PAIR:.+]] = llvm.bitcast %{{.+}} : vector<2xbf16> to i32
// CHECK: %[[AMAXBITS:.+]] = arith.andi %[[PAIR]], %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[AMAXBITS]] : i32 to f32
// CHECK: %[[BITS:.+]] = arith.bitcast %[[AMAX]] : f32 to i32
// CHECK: %[[EXPONENT:.+]] = arith.shrui %[[BITS]], %c23_i32
// CHECK: %[[SHIFTED:.+]] = arith.{{subi|addi}} %[[EXPONENT]], %c{{-?}}8_i32
// CHECK-DAG: %[[BOUNDED:.+]] = arith.maxsi %[[SHIFTED]], %c0_i32
// CHECK-DAG: %[[FINITE:.+]] = arith.cmpi ult, %[[BITS]], %c2139095040_i32
// CHECK: arith.select %[[FINITE]], %[[BOUNDED]], %c255_i32
func.func @floor(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// ceil: one more where the mantissa is not 0; 15 for E5M2.
// CHECK-LABEL: gpu.func @quantize_e5m2_ceil_bf16_k32(
// CHECK: %[[PAIR:.+]] = llvm.bitcast %{{.+}} : vector<2xbf16> to i32
// CHECK: %[[AMAXBITS:.+]] = arith.andi %[[PAIR]], %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[AMAXBITS]] : i32 to f32
// CHECK: %[[BITS:.+]] = arith.bitcast %[[AMAX]] : f32 to i32
// CHECK: %[[UP:.+]] = arith.addi %[[BITS]], %c8388607_i32
// CHECK: %[[EXPONENT:.+]] = arith.shrui %[[UP]], %c23_i32
// CHECK: arith.{{subi|addi}} %[[EXPONENT]], %c{{-?}}15_i32
// CHECK: arith.cmpi ult, %[[BITS]], %c2139095040_i32
func.func @ceil(%x: memref<?x32xbf16>, %q: memref<?x32xf8E5M2>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E5M2>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E5M2>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe ceil : tensor<?x32xbf16> -> tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// even: half of the last bit that E2M1 keeps is added first, and what that makes
// infinite counts as infinity; 2 for E2M1.
// CHECK-LABEL: gpu.func @quantize_e2m1_even_bf16_k32(
// CHECK: %[[PAIR:.+]] = llvm.bitcast %{{.+}} : vector<2xbf16> to i32
// CHECK: %[[AMAXBITS:.+]] = arith.andi %[[PAIR]], %c2147418112_i32 : i32
// CHECK: %[[AMAX:.+]] = llvm.bitcast %[[AMAXBITS]] : i32 to f32
// CHECK: %[[BITS:.+]] = arith.bitcast %[[AMAX]] : f32 to i32
// CHECK: %[[UP:.+]] = arith.addi %[[BITS]], %c2097152_i32
// CHECK: %[[EXPONENT:.+]] = arith.shrui %[[UP]], %c23_i32
// CHECK: arith.{{subi|addi}} %[[EXPONENT]], %c{{-?}}2_i32
// CHECK: arith.cmpi ult, %[[UP]], %c2139095040_i32
// CHECK: llvm.inline_asm {{.+}}cvt.rn.satfinite.e2m1x2.f32
func.func @even(%x: memref<?x32xbf16>, %q: memref<?x16xi8>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x16xi8>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe even : tensor<?x32xbf16> -> tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}
