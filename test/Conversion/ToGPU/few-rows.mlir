// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Long rows that are few have a CTA each, all lanes of whose warps have elements of the row: 32
// each, so that five shuffles give the part of a warp, and four parts are left.
// CHECK-LABEL: gpu.func @rows_k4096_sm90(
// CHECK-SAME: nvvm.reqntid = array<i32: 128, 1, 1>
// CHECK-COUNT-4: llvm.load {{.+}} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl
// CHECK: gpu.barrier
// CHECK-COUNT-4: llvm.load {{.+}} : !llvm.ptr<3> -> f32
// CHECK: gpu.return
// CHECK-LABEL: func.func @few(
// CHECK: blocks in (%c128, %c1, %c1) threads in (%c128, %c1, %c1)
func.func @few(%x: memref<128x4096xbf16>, %s: memref<128xf32>) {
  blockscale.kernel ins(%x : memref<128x4096xbf16>) outs(%s : memref<128xf32>) {
  ^bb0(%lx: tensor<128x4096xbf16>, %ls: tensor<128xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<128xf32>) -> tensor<128xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<128x4096xbf16>) outs(%f : tensor<128xf32>) {
    ^bb0(%a: bf16, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.addf %r, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<128xf32>
    blockscale.yield %sum : tensor<128xf32>
  }
  return
}

// Others share CTAs, four rows a warp: more rows, as many as a call has, and short ones.
// CHECK-LABEL: func.func @more(
// CHECK: blocks in (%c33, %c1, %c1) threads in (%c256, %c1, %c1)
func.func @more(%x: memref<129x4096xbf16>, %s: memref<129xf32>) {
  blockscale.kernel ins(%x : memref<129x4096xbf16>) outs(%s : memref<129xf32>) {
  ^bb0(%lx: tensor<129x4096xbf16>, %ls: tensor<129xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<129xf32>) -> tensor<129xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<129x4096xbf16>) outs(%f : tensor<129xf32>) {
    ^bb0(%a: bf16, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.addf %r, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<129xf32>
    blockscale.yield %sum : tensor<129xf32>
  }
  return
}

// CHECK-LABEL: func.func @unknown(
// CHECK: %[[BLOCKS:.+]] = arith.ceildivui %{{.+}}, %c4
// CHECK: blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c256, %c1, %c1)
func.func @unknown(%x: memref<?x4096xbf16>, %s: memref<?xf32>) {
  blockscale.kernel ins(%x : memref<?x4096xbf16>) outs(%s : memref<?xf32>) {
  ^bb0(%lx: tensor<?x4096xbf16>, %ls: tensor<?xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<?x4096xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: bf16, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.addf %r, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<?xf32>
    blockscale.yield %sum : tensor<?xf32>
  }
  return
}

// The function says how many rows its calls have.
// CHECK-LABEL: func.func @bounded(
// CHECK-NOT: ceildivui
// CHECK: blocks in (%{{.+}}, %c1, %c1) threads in (%c128, %c1, %c1)
func.func @bounded(%x: memref<?x4096xbf16>, %s: memref<?xf32>) attributes {blockscale.max_rows = 8 : i64} {
  blockscale.kernel ins(%x : memref<?x4096xbf16>) outs(%s : memref<?xf32>) {
  ^bb0(%lx: tensor<?x4096xbf16>, %ls: tensor<?xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<?x4096xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: bf16, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.addf %r, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<?xf32>
    blockscale.yield %sum : tensor<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @unbounded(
// CHECK: %[[BLOCKS:.+]] = arith.ceildivui %{{.+}}, %c4
// CHECK: blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c256, %c1, %c1)
func.func @unbounded(%x: memref<?x4096xbf16>, %s: memref<?xf32>) attributes {blockscale.max_rows = 256 : i64} {
  blockscale.kernel ins(%x : memref<?x4096xbf16>) outs(%s : memref<?xf32>) {
  ^bb0(%lx: tensor<?x4096xbf16>, %ls: tensor<?xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<?x4096xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: bf16, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.addf %r, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<?xf32>
    blockscale.yield %sum : tensor<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @short(
// CHECK: blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
func.func @short(%x: memref<8x992xbf16>, %s: memref<8xf32>) {
  blockscale.kernel ins(%x : memref<8x992xbf16>) outs(%s : memref<8xf32>) {
  ^bb0(%lx: tensor<8x992xbf16>, %ls: tensor<8xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<8xf32>) -> tensor<8xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<8x992xbf16>) outs(%f : tensor<8xf32>) {
    ^bb0(%a: bf16, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.addf %r, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8xf32>
    blockscale.yield %sum : tensor<8xf32>
  }
  return
}
