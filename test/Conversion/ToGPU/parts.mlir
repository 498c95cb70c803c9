// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

// Memrefs that are a part of a buffer, without gaps, begin behind its pointer: at a known
// place, or one that must be aligned as the kernel needs it.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<4x32xbf16, strided<[32, 1], offset: ?>>, %[[G:[a-z0-9]+]]: memref<f32, strided<[], offset: 3>>, %[[Q:[a-z0-9]+]]: memref<4x16xi8, strided<[16, 1], offset: 64>>
// CHECK: %{{.+}}, %[[OFFSET:.+]], %{{.+}}:2, %{{.+}}:2 = memref.extract_strided_metadata %[[X]]
// CHECK: %[[BYTES:.+]] = arith.muli %[[OFFSET]], %c2 : index
// CHECK: %[[REST:.+]] = arith.remui %[[BYTES]], %c32 : index
// CHECK: %[[HOLDS:.+]] = arith.cmpi eq, %[[REST]], %c0 : index
// CHECK: cf.assert %[[HOLDS]], "expected a part of a buffer to begin at a multiple of 32 bytes (launch_c1)"
// CHECK: %[[POINTER:.+]] = memref.extract_aligned_pointer_as_index %[[X]]
// CHECK: %[[FIRST:.+]] = arith.addi %[[POINTER]], %[[BYTES]] : index
// CHECK: %[[POINTER:.+]] = memref.extract_aligned_pointer_as_index %[[Q]]
// CHECK: arith.addi %[[POINTER]], %c64 : index
// CHECK: %[[POINTER:.+]] = memref.extract_aligned_pointer_as_index %[[G]]
// CHECK: arith.addi %[[POINTER]], %c12 : index
// CHECK-NOT: cf.assert
// CHECK: gpu.launch_func
func.func @parts(%x: memref<4x32xbf16, strided<[32, 1], offset: ?>>, %g: memref<f32, strided<[], offset: 3>>, %q: memref<4x16xi8, strided<[16, 1], offset: 64>>, %s: memref<4x2xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<4x32xbf16, strided<[32, 1], offset: ?>>, memref<f32, strided<[], offset: 3>>) outs(%q, %s : memref<4x16xi8, strided<[16, 1], offset: 64>>, memref<4x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x32xbf16>, %lg: tensor<f32>, %lq: tensor<4x32xf4E2M1FN>, %ls: tensor<4x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<f32>) : tensor<4x32xbf16> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  }
  return
}
