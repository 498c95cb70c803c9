// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels),blockscale-materialize-storage,canonicalize,cse,blockscale-bufferize,cse,canonicalize)' | FileCheck %s
// RUN: blockscale-opt %s -pass-pipeline='builtin.module(func.func(blockscale-form-kernels),blockscale-materialize-storage,canonicalize,cse,blockscale-bufferize,blockscale-bufferize,cse,canonicalize)' | FileCheck %s

// The second line runs the pass over kernels that are bufferized already.

#swizzled = #blockscale.layout<swizzle_128x4>

// Kernels write their buffers in place and read each other's: no copy. Bodies
// stay logical.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[X:.+]]: memref<200x80xbf16>) -> memref<200x80xf32>
func.func @chain(%x: tensor<200x80xbf16>) -> tensor<200x80xf32> {
  // CHECK-NOT: memref.copy
  // CHECK-DAG: %[[Q:.+]] = memref.alloc() {{.*}} : memref<200x40xi8>
  // CHECK-DAG: %[[S:.+]] = memref.alloc() {{.*}} : memref<2x2x32x4x4xf8E4M3FN>
  // CHECK: blockscale.kernel ins(%[[X]] : memref<200x80xbf16>) outs(%[[Q]], %[[S]] : memref<200x40xi8>, memref<2x2x32x4x4xf8E4M3FN>) {
  // CHECK-NEXT: ^bb0(%{{.+}}: tensor<200x80xbf16>, %{{.+}}: tensor<200x80xf4E2M1FN>, %{{.+}}: tensor<200x5xf8E4M3FN, #swizzled>):
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<200x80xbf16> -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled>
  // CHECK: %[[Y:.+]] = memref.alloc() {{.*}} : memref<200x80xf32>
  // CHECK: blockscale.kernel ins(%[[Q]], %[[S]] : {{.+}}) outs(%[[Y]] : memref<200x80xf32>) {
  %y = blockscale.dequantize %q, %s block [1, 16] : tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #swizzled> -> tensor<200x80xf32>
  // CHECK-NOT: memref.copy
  // CHECK: return %[[Y]]
  return %y : tensor<200x80xf32>
}

// Tiles of storage are written straight to their place in the whole.
// CHECK-LABEL: func.func @tiles
// CHECK-SAME: %[[X:.+]]: memref<256x64xf32>
func.func @tiles(%x: tensor<256x64xf32>) -> tensor<256x2xf8E8M0FNU, #swizzled> {
  // CHECK-NOT: memref.copy
  // CHECK: %[[ALL:.+]] = memref.alloc() {{.*}} : memref<2x1x32x4x4xf8E8M0FNU>
  // CHECK: scf.forall (%[[I:.+]]) = (0) to (256) step (128)
  %e = tensor.empty() : tensor<256x2xf8E8M0FNU, #swizzled>
  %r = scf.forall (%i) = (0) to (256) step (128) shared_outs(%o = %e) -> tensor<256x2xf8E8M0FNU, #swizzled> {
    // CHECK-DAG: %[[XT:.+]] = memref.subview %[[X]][%[[I]], 0] [128, 64] [1, 1]
    %xt = tensor.extract_slice %x[%i, 0] [128, 64] [1, 1] : tensor<256x64xf32> to tensor<128x64xf32>
    // CHECK-DAG: %[[ST:.+]] = memref.subview %[[ALL]][%{{.+}}, 0, 0, 0, 0] [1, 1, 32, 4, 4] [1, 1, 1, 1, 1]
    // CHECK: blockscale.kernel ins(%[[XT]] : {{.+}}) outs(%{{.+}}, %[[ST]] :
    %q, %s = blockscale.quantize %xt block [1, 32] : tensor<128x64xf32> -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU, #swizzled>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i, 0] [128, 2] [1, 1] : tensor<128x2xf8E8M0FNU, #swizzled> into tensor<256x2xf8E8M0FNU, #swizzled>
    }
  }
  // CHECK-NOT: memref.copy
  // CHECK: return %[[ALL]]
  return %r : tensor<256x2xf8E8M0FNU, #swizzled>
}

// An output whose old content the body reads is copied where others use it.
// CHECK-LABEL: func.func @old_content
func.func @old_content(%o: tensor<f32> {bufferization.writable = false}) -> tensor<f32> {
  // CHECK: memref.copy
  // CHECK: blockscale.kernel outs
  %r = blockscale.kernel outs(%o : tensor<f32>) {
  ^bb0(%lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  } -> tensor<f32>
  return %r : tensor<f32>
}

// A loop whose iterations make new tensors allocates them.
// CHECK-LABEL: func.func @loop
func.func @loop(%q: tensor<8x32xf4E2M1FN>, %p: tensor<8x32xf4E2M1FN>, %n: index, %c: i1) -> tensor<8x32xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.+}} -> (memref<8x16xi8>)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %q) -> tensor<8x32xf4E2M1FN> {
    %0 = arith.select %c, %b, %p : tensor<8x32xf4E2M1FN>
    scf.yield %0 : tensor<8x32xf4E2M1FN>
  }
  return %r : tensor<8x32xf4E2M1FN>
}

// Rows with gaps between their elements are copied, on the way in and out.
// CHECK-LABEL: func.func @strided
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4x64xf32>, %[[Y:[a-z0-9]+]]: memref<9x80xf32>
func.func @strided(%x: tensor<4x64xf32>, %y: tensor<9x80xf32> {bufferization.writable = true}) -> tensor<9x80xf32> {
  // CHECK: %[[XS:.+]] = memref.subview %[[X]][0, 1] [4, 32] [1, 2]
  %0 = tensor.extract_slice %x[0, 1] [4, 32] [1, 2] : tensor<4x64xf32> to tensor<4x32xf32>
  // CHECK: %[[XC:.+]] = memref.alloc() {{.*}} : memref<4x32xf32>
  // CHECK: memref.copy %[[XS]], %[[XC]]
  // CHECK: blockscale.kernel ins(%[[XC]] : memref<4x32xf32>)
  %q, %s = blockscale.quantize %0 block [1, 16] : tensor<4x32xf32> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  // CHECK: %[[YS:.+]] = memref.subview %{{.+}}[1, 9] [4, 32] [2, 2]
  // CHECK: %[[YC:.+]] = memref.alloc() {{.*}} : memref<4x32xf32>
  // CHECK-NOT: memref.copy
  // CHECK: blockscale.kernel {{.+}} outs(%[[YC]] : memref<4x32xf32>)
  %1 = blockscale.dequantize %q, %s block [1, 16] : tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN> -> tensor<4x32xf32>
  // CHECK: memref.copy %[[YC]], %[[YS]]
  %2 = tensor.insert_slice %1 into %y[1, 9] [4, 32] [2, 2] : tensor<4x32xf32> into tensor<9x80xf32>
  return %2 : tensor<9x80xf32>
}

// What an op would overwrite is a result, too: the op gets a place of its own, and the
// kernel writes where its result belongs.
// CHECK-LABEL: func.func @overwritten
// CHECK: %[[Y:.+]] = memref.alloc() {{.*}} : memref<64x32xf32>
// CHECK: blockscale.kernel {{.*}} outs(%[[Y]] : memref<64x32xf32>)
// CHECK: %[[Z:.+]] = memref.alloc() {{.*}} : memref<64x32xf32>
// CHECK: linalg.generic {{.*}} outs(%[[Z]] : memref<64x32xf32>)
// CHECK-NOT: memref.copy
// CHECK: return %[[Z]], %[[Y]]
func.func @overwritten(%q: tensor<64x32xf8E4M3FN>, %s: tensor<64x1xf8E8M0FNU>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %y = blockscale.dequantize %q, %s block [1, 32] : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU> -> tensor<64x32xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<64x32xf32>) outs(%y : tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %a : f32
    linalg.yield %p : f32
  } -> tensor<64x32xf32>
  return %z, %y : tensor<64x32xf32>, tensor<64x32xf32>
}
