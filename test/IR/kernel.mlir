// RUN: blockscale-opt %s -verify-roundtrip | FileCheck %s
// RUN: blockscale-opt %s -mlir-print-op-generic | blockscale-opt | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// A kernel of logical tensors, as formed.
// CHECK-LABEL: func.func @logical
// CHECK-SAME: %[[X:.+]]: tensor<128x64xbf16>, %[[QI:.+]]: tensor<128x64xf4E2M1FN>, %[[SI:.+]]: tensor<128x4xf8E4M3FN>
func.func @logical(%x: tensor<128x64xbf16>, %qi: tensor<128x64xf4E2M1FN>, %si: tensor<128x4xf8E4M3FN>) {
  // CHECK: blockscale.kernel ins(%[[X]] : tensor<128x64xbf16>) outs(%[[QI]], %[[SI]] : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) {
  // CHECK-NEXT: ^bb0(%[[LX:.+]]: tensor<128x64xbf16>, %{{.+}}: tensor<128x64xf4E2M1FN>, %{{.+}}: tensor<128x4xf8E4M3FN>):
  // CHECK-NEXT: %[[Q:.+]], %[[S:.+]] = blockscale.quantize %[[LX]]
  // CHECK-NEXT: blockscale.yield %[[Q]], %[[S]] : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  // CHECK-NEXT: } -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  %q, %s = blockscale.kernel ins(%x : tensor<128x64xbf16>)
      outs(%qi, %si : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<128x64xbf16>, %lq: tensor<128x64xf4E2M1FN>, %ls: tensor<128x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16]
        : tensor<128x64xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  } -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  return
}

// Operands in storage form, for a body of logical tensors; attributes stay.
// CHECK-LABEL: func.func @storage
// CHECK-SAME: %[[T:.+]]: tensor<2x2x32x4x4xf8E4M3FN>, %[[N:.+]]: index, %[[I:.+]]: tensor<200x?xf8E4M3FN>
func.func @storage(%t: tensor<2x2x32x4x4xf8E4M3FN>, %n: index, %i: tensor<200x?xf8E4M3FN>) {
  // CHECK: blockscale.kernel ins(%[[T]], %[[N]] : tensor<2x2x32x4x4xf8E4M3FN>, index) outs(%[[I]] : tensor<200x?xf8E4M3FN>) attributes {tile = 4 : i64} {
  %r = blockscale.kernel ins(%t, %n : tensor<2x2x32x4x4xf8E4M3FN>, index)
      outs(%i : tensor<200x?xf8E4M3FN>) attributes {tile = 4} {
  ^bb0(%lt: tensor<200x?xf8E4M3FN, #swizzled>, %ln: index, %li: tensor<200x?xf8E4M3FN>):
    %0 = blockscale.swizzle %lt sizes(%ln) : tensor<200x?xf8E4M3FN, #swizzled> -> tensor<200x?xf8E4M3FN>
    blockscale.yield %0 : tensor<200x?xf8E4M3FN>
  } -> tensor<200x?xf8E4M3FN>
  return
}

// After bufferization: memrefs, strided too, and no results.
// CHECK-LABEL: func.func @buffers
func.func @buffers(%x: memref<4x32xf32, strided<[64, 1], offset: ?>>, %q: memref<4x16xi8>, %s: memref<4x1xf8E8M0FNU>) {
  // CHECK: blockscale.kernel ins(%{{.+}} : memref<4x32xf32, strided<[64, 1], offset: ?>>) outs(%{{.+}}, %{{.+}} : memref<4x16xi8>, memref<4x1xf8E8M0FNU>) {
  // CHECK: }{{$}}
  blockscale.kernel ins(%x : memref<4x32xf32, strided<[64, 1], offset: ?>>)
      outs(%q, %s : memref<4x16xi8>, memref<4x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<4x32xf32>, %lq: tensor<4x32xf4E2M1FN>, %ls: tensor<4x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32]
        : tensor<4x32xf32> -> tensor<4x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<4x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>
  }
  return
}

// A kernel of a family.
// CHECK-LABEL: func.func @family
func.func @family(%x: tensor<4x32xbf16>, %i: tensor<f32>) {
  // CHECK: blockscale.kernel ins(%{{.+}} : tensor<4x32xbf16>) outs(%{{.+}} : tensor<f32>) family op attributes {tile = 4 : i64} {
  %a = blockscale.kernel ins(%x : tensor<4x32xbf16>) outs(%i : tensor<f32>) family op attributes {tile = 4} {
  ^bb0(%lx: tensor<4x32xbf16>, %li: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<4x32xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  } -> tensor<f32>
  return
}
