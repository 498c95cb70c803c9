// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Tile (row / 128) * (columns / 4) + chunk / 2, then 16 bytes for row % 32, 4
// for row / 32 % 4, 2 for the odd chunk.
// CHECK-LABEL: gpu.func @quantize_e4m3_rceil_bf16_k256_swizzled(
// CHECK-SAME: %[[S:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 2 : i64}, %{{[a-z0-9]+}}: i64)
// CHECK: %[[CHUNK:.+]] = arith.remui %{{.+}}, %c8_i32
// CHECK: arith.cmpi ult, %[[ROW:.+]], %{{.+}} : i64
// CHECK: %[[ROWTILE:.+]] = arith.shrui %[[ROW]], %c7_i64
// CHECK: %[[COLTILE:.+]] = arith.divui %[[CHUNK]], %c2_i32
// CHECK-DAG: %[[TILES:.+]] = arith.muli %[[ROWTILE]], %c2_i64
// CHECK-DAG: %[[COLTILE64:.+]] = arith.extui %[[COLTILE]]
// CHECK: %[[TILE:.+]] = arith.addi %[[TILES]], %[[COLTILE64]]
// CHECK: %[[R:.+]] = arith.trunci %[[ROW]] : i64 to i32
// CHECK: %[[LOW:.+]] = arith.andi %[[R]], %c31_i32
// CHECK: %[[BY16:.+]] = arith.muli %[[LOW]], %c16_i32
// CHECK: %[[UP:.+]] = arith.shrui %[[R]], %c5_i32
// CHECK: %[[QUARTER:.+]] = arith.andi %[[UP]], %c3_i32
// CHECK: %[[BY4:.+]] = arith.muli %[[QUARTER]], %c4_i32
// CHECK: %[[ROWBYTE:.+]] = arith.ori %[[BY16]], %[[BY4]]
// CHECK: %[[ODD:.+]] = arith.andi %[[CHUNK]], %c1_i32
// CHECK: %[[BY2:.+]] = arith.muli %[[ODD]], %c2_i32
// CHECK: %[[BYTE:.+]] = arith.ori %[[ROWBYTE]], %[[BY2]]
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

// Byte row * 8 + chunk * 2.
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
