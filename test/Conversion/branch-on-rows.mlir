// Kernels of products of a dynamic number of rows for few and for many rows.

// RUN: blockscale-opt %s --split-input-file --blockscale-branch-on-rows='chip=sm_90a' | FileCheck %s
// RUN: blockscale-opt %s --split-input-file --blockscale-branch-on-rows='chip=sm_90a' --remarks-filter-analyse=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: blockscale-opt %s --split-input-file --blockscale-branch-on-rows='chip=sm_90a gain=100' | FileCheck %s --check-prefix=RARELY
// RUN: blockscale-opt %s --split-input-file --blockscale-branch-on-rows='chip=sm_90a' --remarks-filter-missed=gpu-launch -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISSED

#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(m, n) -> (m, n)>

// Three bounds, the smallest one first. What follows the product is in each kernel, and a remark says
// the tiles. Where another tile may be slower by any factor, there is one kernel.
// REMARK: remark: [Analysis] rows | Category:gpu-launch | Remark="tiles by the rows of a call: up to 16 16 x 64, K in 2 parts; up to 64 64 x 64, K in 2 parts; up to 256 128 x 64; else 256 x 128"
// CHECK-LABEL: func.func @weight_only
// CHECK-SAME:  (%[[X:.+]]: memref<?x4096xbf16>, %[[W:.+]]: memref<{{.+}}>, %[[S:.+]]: memref<{{.+}}>, %[[Y:.+]]: memref<?x4096xbf16>)
// CHECK:       %[[ROWS:.+]] = memref.dim %[[X]], %{{.+}}
// CHECK:       %[[FEWEST:.+]] = arith.constant 16 : index
// CHECK:       %[[IS_FEWEST:.+]] = arith.cmpi ule, %[[ROWS]], %[[FEWEST]]
// CHECK:       scf.if %[[IS_FEWEST]] {
// CHECK:         blockscale.kernel ins(%[[X]], %[[W]], %[[S]] : {{.+}}) outs(%[[Y]] : {{.+}})
// CHECK:           blockscale.scaled_mm {{.+}} {blockscale.max_rows = 16 : i64}
// CHECK:           arith.negf
// CHECK:       } else {
// CHECK:         arith.constant 64 : index
// CHECK:         scf.if
// CHECK:           {blockscale.max_rows = 64 : i64}
// CHECK:         } else {
// CHECK:         %[[FEW:.+]] = arith.constant 256 : index
// CHECK:         %[[IS_FEW:.+]] = arith.cmpi ule, %[[ROWS]], %[[FEW]]
// CHECK:         scf.if %[[IS_FEW]] {
// CHECK:             blockscale.scaled_mm {{.+}} {blockscale.max_rows = 256 : i64}
// CHECK:             arith.negf
// CHECK:         } else {
// CHECK:           blockscale.kernel ins(%[[X]], %[[W]], %[[S]] : {{.+}}) outs(%[[Y]] : {{.+}})
// CHECK-NOT:         max_rows
// CHECK:             arith.negf
// RARELY-NOT: scf.if
func.func @weight_only(%x: memref<?x4096xbf16>, %w: memref<4096x2048xi8>, %s: memref<32x64x32x4x4xf8E4M3FN>, %y: memref<?x4096xbf16>) {
  blockscale.kernel ins(%x, %w, %s : memref<?x4096xbf16>, memref<4096x2048xi8>, memref<32x64x32x4x4xf8E4M3FN>) outs(%y : memref<?x4096xbf16>) {
  ^bb0(%a: tensor<?x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN>, %sb: tensor<4096x256xf8E4M3FN, #swizzled>, %out: tensor<?x4096xbf16>):
    %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16] : tensor<?x4096xbf16>, tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<?x4096xbf16>
    %c0 = arith.constant 0 : index
    %m = tensor.dim %a, %c0 : tensor<?x4096xbf16>
    %e = tensor.empty(%m) : tensor<?x4096xbf16>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<?x4096xbf16>) outs(%e : tensor<?x4096xbf16>) {
    ^bb0(%p: bf16, %o: bf16):
      %n = arith.negf %p : bf16
      linalg.yield %n : bf16
    } -> tensor<?x4096xbf16>
    blockscale.yield %1 : tensor<?x4096xbf16>
  }
  return
}

// -----

// Rows of A that lie along its last dimension: those that a call has are asked for there.
// CHECK-LABEL: func.func @along_columns
// CHECK:       %[[ONE:.+]] = arith.constant 1 : index
// CHECK:       memref.dim %{{.+}}, %[[ONE]]
// CHECK:       scf.if
func.func @along_columns(%x: memref<4096x?xbf16>, %w: memref<4096x4096xbf16>, %y: memref<?x4096xbf16>) {
  blockscale.kernel ins(%x, %w : memref<4096x?xbf16>, memref<4096x4096xbf16>) outs(%y : memref<?x4096xbf16>) {
  ^bb0(%a: tensor<4096x?xbf16>, %b: tensor<4096x4096xbf16>, %out: tensor<?x4096xbf16>):
    %0 = blockscale.scaled_mm %a, %b mn_major_a scales(none, none) block [1, 16] : tensor<4096x?xbf16>, tensor<4096x4096xbf16> -> tensor<?x4096xbf16>
    blockscale.yield %0 : tensor<?x4096xbf16>
  }
  return
}

// -----

// No branch: the types have the number of rows, or the most of them is known, or a schedule is
// written down.
#swizzled = #blockscale.layout<swizzle_128x4>
#schedule = #blockscale.gemm_schedule<rows = 64, cols = 64, stages = 4, band = 8, ctas = 132>
// CHECK-LABEL: func.func @left
// CHECK-NOT:   scf.if
func.func @left(%x: memref<100x4096xbf16>, %any: memref<?x4096xbf16>, %w: memref<4096x2048xi8>, %s: memref<32x64x32x4x4xf8E4M3FN>, %y: memref<100x4096xbf16>, %z: memref<?x4096xbf16>) {
  blockscale.kernel ins(%x, %w, %s : memref<100x4096xbf16>, memref<4096x2048xi8>, memref<32x64x32x4x4xf8E4M3FN>) outs(%y : memref<100x4096xbf16>) {
  ^bb0(%a: tensor<100x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN>, %sb: tensor<4096x256xf8E4M3FN, #swizzled>, %out: tensor<100x4096xbf16>):
    %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16] : tensor<100x4096xbf16>, tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<100x4096xbf16>
    blockscale.yield %0 : tensor<100x4096xbf16>
  }
  blockscale.kernel ins(%any, %w, %s : memref<?x4096xbf16>, memref<4096x2048xi8>, memref<32x64x32x4x4xf8E4M3FN>) outs(%z : memref<?x4096xbf16>) {
  ^bb0(%a: tensor<?x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN>, %sb: tensor<4096x256xf8E4M3FN, #swizzled>, %out: tensor<?x4096xbf16>):
    %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16] {blockscale.max_rows = 9 : i64} : tensor<?x4096xbf16>, tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<?x4096xbf16>
    blockscale.yield %0 : tensor<?x4096xbf16>
  }
  blockscale.kernel ins(%any, %w, %s : memref<?x4096xbf16>, memref<4096x2048xi8>, memref<32x64x32x4x4xf8E4M3FN>) outs(%z : memref<?x4096xbf16>) {
  ^bb0(%a: tensor<?x4096xbf16>, %b: tensor<4096x4096xf4E2M1FN>, %sb: tensor<4096x256xf8E4M3FN, #swizzled>, %out: tensor<?x4096xbf16>):
    %0 = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16] {blockscale.schedule = #schedule} : tensor<?x4096xbf16>, tensor<4096x4096xf4E2M1FN>, tensor<4096x256xf8E4M3FN, #swizzled> -> tensor<?x4096xbf16>
    blockscale.yield %0 : tensor<?x4096xbf16>
  }
  return
}

// -----

// Rows in two groups: the bound is the rows of both.
// CHECK-LABEL: func.func @groups
// CHECK:       memref.dim
// CHECK:       arith.constant 32 : index
// CHECK:       scf.if
// CHECK:         blockscale.scaled_grouped_mm {{.+}} {blockscale.max_rows = 32 : i64}
func.func @groups(%any: memref<?x4096xbf16>, %each: memref<2x4096x4096xbf16>, %ends: memref<2xi32>, %z: memref<?x4096xbf16>) {
  blockscale.kernel ins(%any, %each, %ends : memref<?x4096xbf16>, memref<2x4096x4096xbf16>, memref<2xi32>) outs(%z : memref<?x4096xbf16>) {
  ^bb0(%a: tensor<?x4096xbf16>, %b: tensor<2x4096x4096xbf16>, %o: tensor<2xi32>, %out: tensor<?x4096xbf16>):
    %0 = blockscale.scaled_grouped_mm %a, %b offsets(%o) scales(none, none) block [1, 16] : tensor<?x4096xbf16>, tensor<2x4096x4096xbf16>, tensor<2xi32> -> tensor<?x4096xbf16>
    blockscale.yield %0 : tensor<?x4096xbf16>
  }
  return
}

// -----

// Heads of attention: the kernel gathers the rows of A, whose type in memory has them elsewhere. A
// remark says that there is one kernel.
// MISSED: remark: [Missed] rows | Category:gpu-launch | Remark="one tile for any number of rows: expected A in memory whose type has its rows, but got one that the kernel computes or has in a layout"
// CHECK-LABEL: func.func @gathered
// CHECK-NOT:   scf.if
func.func @gathered(%x: memref<?x4x4096xbf16>, %w: memref<4x4096x4096xbf16>, %y: memref<4x?x4096xbf16>) {
  blockscale.kernel ins(%x, %w : memref<?x4x4096xbf16>, memref<4x4096x4096xbf16>) outs(%y : memref<4x?x4096xbf16>) {
  ^bb0(%a: tensor<?x4x4096xbf16>, %b: tensor<4x4096x4096xbf16>, %out: tensor<4x?x4096xbf16>):
    %c0 = arith.constant 0 : index
    %n = tensor.dim %a, %c0 : tensor<?x4x4096xbf16>
    %e = tensor.empty(%n) : tensor<4x?x4096xbf16>
    %t = linalg.transpose ins(%a : tensor<?x4x4096xbf16>) outs(%e : tensor<4x?x4096xbf16>) permutation = [1, 0, 2]
    %0 = blockscale.scaled_mm %t, %b scales(none, none) block [1, 16] : tensor<4x?x4096xbf16>, tensor<4x4096x4096xbf16> -> tensor<4x?x4096xbf16>
    blockscale.yield %0 : tensor<4x?x4096xbf16>
  }
  return
}
