// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_80 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,SM80 --implicit-check-not=nvvm.convert --implicit-check-not=inline_asm
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_89 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,FP8
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,FP8

// Conversions of chips without their cvt. Loads are of 16 bytes.

// E2M1: the least of 2 |x|, |x| + 2 and |x| / 2 + 4, rounded by sums with 1.5 * 2^23,
// whose bits are subtracted from those of eight sums at once. NaN is 6, as large |x|.
// Signs are shifted together.
// CHECK-LABEL: gpu.func @quantize_e2m1_rceil_bf16_k32_sm
// CHECK-DAG: %[[SIX:.+]] = arith.constant 6.000000e+00 : f32
// CHECK-DAG: %[[TWO:.+]] = arith.constant 2.000000e+00 : f32
// CHECK-DAG: %[[HALF:.+]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG: %[[ROUND:.+]] = arith.constant 0x4B400000 : f32
// CHECK-DAG: %[[ROUND2:.+]] = arith.constant 0x4B400002 : f32
// CHECK-DAG: %[[ROUND4:.+]] = arith.constant 0x4B400004 : f32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG: %[[FOUR:.+]] = arith.constant 4 : i32
// CHECK-DAG: %[[SIXTEEN:.+]] = arith.constant 16 : i32
// CHECK-DAG: %[[SURPLUS:.+]] = arith.constant 1061158912 : i32
// CHECK-DAG: %[[TOPBITS:.+]] = arith.constant -2004318072 : i32
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// The byte of rceil: the exponent of |x| + (2^23 - 1), of subnormals 2^22 - 1.
// CHECK: %[[ISSMALL:.+]] = arith.cmpi ult, %[[X:.+]], %c8388608_i32 : i32
// CHECK: %[[UP:.+]] = arith.select %[[ISSMALL]], %c4194303_i32, %c8388607_i32 : i32
// CHECK: %[[SUM:.+]] = arith.addi %[[X]], %[[UP]] : i32
// CHECK: %[[BYTE:.+]] = arith.shrui %[[SUM]], %c23_i32 : i32
// CHECK: arith.minui %[[BYTE]], %c255_i32 : i32
// CHECK: arith.trunci %{{.+}} : i32 to i16
// The last element is the highest.
// CHECK: %[[A7:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[E7:.+]]) : (f32) -> f32
// CHECK: %[[M7:.+]] = llvm.call_intrinsic "llvm.minnum"(%[[A7]], %[[SIX]])
// CHECK: %[[DOUBLE:.+]] = arith.mulf %[[M7]], %[[TWO]] fastmath<contract> : f32
// CHECK: %[[LOW:.+]] = arith.addf %[[DOUBLE]], %[[ROUND]] fastmath<contract> : f32
// CHECK: %[[MIDDLE:.+]] = arith.addf %[[M7]], %[[ROUND2]] fastmath<contract> : f32
// CHECK: %[[LESS:.+]] = llvm.call_intrinsic "llvm.minnum"(%[[LOW]], %[[MIDDLE]])
// CHECK: %[[HALVED:.+]] = arith.mulf %[[M7]], %[[HALF]] fastmath<contract> : f32
// CHECK: %[[HIGH:.+]] = arith.addf %[[HALVED]], %[[ROUND4]] fastmath<contract> : f32
// CHECK: %[[LEAST:.+]] = llvm.call_intrinsic "llvm.minnum"(%[[LESS]], %[[HIGH]])
// CHECK: %[[C7:.+]] = llvm.bitcast %[[LEAST]] : f32 to i32
// CHECK: %[[B7:.+]] = llvm.bitcast %[[E7]] : f32 to i32
// CHECK: %[[S7:.+]] = llvm.intr.fshl(%[[ZERO]], %[[B7]], %[[FOUR]])
// CHECK: llvm.call_intrinsic "llvm.fabs"(%[[E6:.+]]) : (f32) -> f32
// CHECK: %[[SHIFTED:.+]] = arith.muli %[[C7]], %[[SIXTEEN]] : i32
// CHECK: %[[C6:.+]] = llvm.bitcast %{{.+}} : f32 to i32
// CHECK: arith.addi %[[SHIFTED]], %[[C6]] : i32
// CHECK: %[[B6:.+]] = llvm.bitcast %[[E6]] : f32 to i32
// CHECK: llvm.intr.fshl(%[[S7]], %[[B6]], %[[FOUR]])
// CHECK-COUNT-5: llvm.intr.fshl(
// CHECK: %[[SUMS:.+]] = arith.addi %{{.+}}, %{{.+}} : i32
// CHECK: %[[SIGNS:.+]] = llvm.intr.fshl(
// CHECK: %[[CODES:.+]] = arith.subi %[[SUMS]], %[[SURPLUS]] : i32
// CHECK: %[[MASKED:.+]] = arith.andi %[[SIGNS]], %[[TOPBITS]] : i32
// CHECK: arith.ori %[[CODES]], %[[MASKED]] : i32
// The other three words.
// CHECK-COUNT-3: arith.subi %{{.+}}, %[[SURPLUS]] : i32
// CHECK-NOT: arith.subi
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
// SM80: llvm.call_intrinsic "llvm.maxnum"(%[[LIMITED]], %[[SMALLEST]])
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
