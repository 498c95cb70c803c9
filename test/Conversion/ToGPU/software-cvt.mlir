// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_80 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,SM80 --implicit-check-not=nvvm.convert --implicit-check-not=inline_asm
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_89 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,FP8
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,FP8

// Conversions of chips without their cvt. Loads are of 16 bytes.

// E2M1: |x| + p * (2^22 + 3), with p the power of two of |x|, at least 1; the
// exponent is added at the place of the code's. Codes and signs are shifted
// together, and NaN, whose code has the bit of the sign, gets none.
// CHECK-LABEL: gpu.func @quantize_e2m1_rceil_bf16_k32_sm
// CHECK-DAG: %[[SIX:.+]] = arith.constant 6.000000e+00 : f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[ANCHOR:.+]] = arith.constant 0x4A800006 : f32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG: %[[INFINITY:.+]] = arith.constant 2139095040 : i32
// CHECK-DAG: %[[THREE:.+]] = arith.constant 3 : i32
// CHECK-DAG: %[[FOUR:.+]] = arith.constant 4 : i32
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// The byte of rceil: the exponent of |x| + (2^23 - 1), of subnormals 2^22 - 1.
// CHECK: %[[ISSMALL:.+]] = arith.cmpi ult, %[[X:.+]], %c8388608_i32 : i32
// CHECK: %[[UP:.+]] = arith.select %[[ISSMALL]], %c4194303_i32, %c8388607_i32 : i32
// CHECK: %[[SUM:.+]] = arith.addi %[[X]], %[[UP]] : i32
// CHECK: %[[BYTE:.+]] = arith.shrui %[[SUM]], %c23_i32 : i32
// CHECK: arith.minui %[[BYTE]], %c255_i32 : i32
// CHECK: arith.trunci %{{.+}} : i32 to i16
// CHECK: %[[A:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[E0:.+]]) : (f32) -> f32
// CHECK: %[[LIMITED:.+]] = arith.minimumf %[[A]], %[[SIX]] : f32
// CHECK: %[[LEAST:.+]] = arith.maxnumf %[[LIMITED]], %[[ONE]] : f32
// CHECK: %[[LEASTBITS:.+]] = llvm.bitcast %[[LEAST]] : f32 to i32
// CHECK: %[[PBITS:.+]] = arith.andi %[[LEASTBITS]], %[[INFINITY]] : i32
// CHECK: %[[P:.+]] = llvm.bitcast %[[PBITS]] : i32 to f32
// CHECK: %[[PRODUCT:.+]] = arith.mulf %[[P]], %[[ANCHOR]] fastmath<contract> : f32
// CHECK: %[[S:.+]] = arith.addf %[[PRODUCT]], %[[LIMITED]] fastmath<contract> : f32
// CHECK: %[[BITS:.+]] = llvm.bitcast %[[S]] : f32 to i32
// CHECK: %[[EXPONENT:.+]] = arith.shrui %[[BITS]], %c22_i32 : i32
// CHECK: %[[C0:.+]] = arith.addi %[[BITS]], %[[EXPONENT]] : i32
// CHECK: llvm.intr.fshr(%[[C0]], %[[ZERO]], %[[FOUR]])
// CHECK-COUNT-6: llvm.intr.fshr(
// CHECK: %[[CODES:.+]] = llvm.intr.fshr(%{{.+}}, %{{.+}}, %[[FOUR]])
// CHECK-COUNT-7: llvm.intr.fshl(
// CHECK: %[[FIRST:.+]] = llvm.bitcast %[[E0]] : f32 to i32
// CHECK: %[[SIGNS:.+]] = llvm.intr.fshl(%{{.+}}, %[[FIRST]], %[[FOUR]])
// CHECK: %[[TOP:.+]] = arith.shrui %[[CODES]], %[[THREE]] : i32
// CHECK: %[[NAN:.+]] = arith.andi %[[TOP]], %c286331153_i32 : i32
// CHECK: %[[ALL:.+]] = arith.ori %[[CODES]], %[[NAN]] : i32
// CHECK: gpu.return
func.func @e2m1(%x: memref<?x32xbf16>, %q: memref<?x16xi8>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x16xi8>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// E4M3: the power is at least 2^-6, the anchor 2^20 + 19. From sm_89 on it is cvt.
// CHECK-LABEL: gpu.func @quantize_e4m3_floor_bf16_k32_sm
// SM80-DAG: %[[LARGEST:.+]] = arith.constant 4.480000e+02 : f32
// SM80-DAG: %[[SMALLEST:.+]] = arith.constant 1.562500e-02 : f32
// SM80-DAG: %[[ANCHOR:.+]] = arith.constant 0x49800098 : f32
// SM80: %[[LIMITED:.+]] = arith.minimumf %{{.+}}, %[[LARGEST]] : f32
// SM80: arith.maxnumf %[[LIMITED]], %[[SMALLEST]] : f32
// SM80: arith.mulf %{{.+}}, %[[ANCHOR]] fastmath<contract> : f32
// FP8-NOT: fastmath
// FP8-COUNT-16: nvvm.convert.f32x2.to.f8x2 {{.+}} : i16(f8E4M3FN)
// CHECK: gpu.return
func.func @e4m3(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// The E4M3 scale comes back as its magnitude at the place of f32's, times 2^120.
// CHECK-LABEL: gpu.func @quantize_e2m1_torchao_bf16_k16_sm
// SM80-DAG: %[[REBIAS:.+]] = arith.constant 1.32922{{.+}}E+36 : f32
// SM80: %[[MAGNITUDE:.+]] = arith.andi %{{.+}}, %c127_i32 : i32
// SM80: %[[SIGN:.+]] = arith.andi %{{.+}}, %c128_i32 : i32
// SM80: %[[HIGH:.+]] = arith.shli %[[MAGNITUDE]], %c20_i32 : i32
// SM80: %[[TOP:.+]] = arith.shli %[[SIGN]], %c24_i32 : i32
// SM80: %[[BITS:.+]] = arith.ori %[[HIGH]], %[[TOP]] : i32
// SM80: %[[SMALL:.+]] = llvm.bitcast %[[BITS]] : i32 to f32
// SM80: %[[VALUE:.+]] = arith.mulf %[[SMALL]], %[[REBIAS]] : f32
// SM80: %[[ISNAN:.+]] = arith.cmpi eq, %[[MAGNITUDE]], %c127_i32 : i32
// SM80: arith.select %[[ISNAN]], %{{.+}}, %[[VALUE]] : f32
// FP8: nvvm.convert.f32x2.to.f8x2 {{.+}} : i16(f8E4M3FN)
// FP8: nvvm.convert.f8x2.to.f16x2
// CHECK: gpu.return
func.func @scale(%x: memref<?x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}
