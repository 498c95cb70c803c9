// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// With column = fragment * 2: tile row / 128 * (columns / 4) + column / 4, then 16
// bytes for row % 32, 4 for row % 128 / 32, 1 for column % 4.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k256_swizzled(
// CHECK-SAME: %[[S:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 2 : i64}, %{{[a-z0-9]+}}: i64)
// CHECK: %[[CHUNK:.+]] = arith.remui %{{.+}}, %c8_i32
// CHECK: arith.cmpi ult, %[[ROW:.+]], %{{.+}} : i64
// CHECK: %[[COL:.+]] = arith.muli %[[CHUNK]], %c2_i32
// CHECK: %[[COL64:.+]] = arith.extui %[[COL]]
// CHECK: %[[ROWTILE:.+]] = arith.divui %[[ROW]], %c128_i64
// CHECK: %[[TILES:.+]] = arith.muli %[[ROWTILE]], %c2_i64
// CHECK: %[[COLTILE:.+]] = arith.divui %[[COL64]], %c4_i64
// CHECK: %[[TILE:.+]] = arith.addi %[[TILES]], %[[COLTILE]]
// CHECK: %[[R:.+]] = arith.trunci %[[ROW]] : i64 to i32
// CHECK: %[[LINE:.+]] = arith.remui %[[R]], %c32_i32
// CHECK: %[[INTILE:.+]] = arith.remui %[[R]], %c128_i32
// CHECK: %[[QUARTER:.+]] = arith.divui %[[INTILE]], %c32_i32
// CHECK: %[[INLINE:.+]] = arith.remui %[[COL]], %c4_i32
// CHECK: %[[BY16:.+]] = arith.muli %[[LINE]], %c16_i32
// CHECK: %[[BY4:.+]] = arith.muli %[[QUARTER]], %c4_i32
// CHECK: %[[ROWBYTE:.+]] = arith.addi %[[BY16]], %[[BY4]]
// CHECK: %[[BYTE:.+]] = arith.addi %[[ROWBYTE]], %[[INLINE]]
// CHECK-DAG: %[[BASE:.+]] = arith.muli %[[TILE]], %c512_i64
// CHECK-DAG: %[[BYTE64:.+]] = arith.extui %[[BYTE]]
// CHECK: %[[OFFSET:.+]] = arith.addi %[[BASE]], %[[BYTE64]]
// CHECK: llvm.getelementptr %[[S]][%[[OFFSET]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
func.func @swizzled(%x: memref<?x256xbf16>, %q: memref<?x256xf8E4M3FN>, %s: memref<?x2x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x256xbf16>) outs(%q, %s : memref<?x256xf8E4M3FN>, memref<?x2x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x256xbf16>, %lq: tensor<?x256xf8E4M3FN>, %ls: tensor<?x8xf8E8M0FNU, #swizzled>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU, #swizzled>
  }
  return
}

// Byte row * 8 + fragment * 2.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k256(
// CHECK-SAME: %[[S:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 2 : i64}, %{{[a-z0-9]+}}: i64)
// CHECK: %[[CHUNK:.+]] = arith.remui %{{.+}}, %c4_i32
// CHECK: %[[ROW:.+]] = arith.addi %{{.+}}, %{{.+}} : i64
// CHECK: %[[CHUNK64:.+]] = arith.extui %[[CHUNK]]
// CHECK-DAG: %[[COLUMN:.+]] = arith.muli %[[CHUNK64]], %c2_i64
// CHECK-DAG: %[[ROWSTART:.+]] = arith.muli %[[ROW]], %c8_i64
// CHECK: %[[OFFSET:.+]] = arith.addi %[[ROWSTART]], %[[COLUMN]]
// CHECK: llvm.getelementptr %[[S]][%[[OFFSET]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
func.func @linear(%x: memref<?x256xbf16>, %q: memref<?x256xf8E4M3FN>, %s: memref<?x8xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x256xbf16>) outs(%q, %s : memref<?x256xf8E4M3FN>, memref<?x8xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x256xbf16>, %lq: tensor<?x256xf8E4M3FN>, %ls: tensor<?x8xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
  }
  return
}
