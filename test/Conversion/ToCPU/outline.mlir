// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -split-input-file | FileCheck %s

// A kernel becomes a private function of its operands and a range of items, and
// a marked call for all items. Each op counts its kernels in its function.
// CHECK-LABEL: func.func private @f_global_scale_0(
// CHECK-SAME:      {{%.+}}: memref<5xf32>, {{%.+}}: memref<5xf32>, [[BEGIN:%.+]]: index, [[END:%.+]]: index)
// CHECK-SAME:      attributes {llvm.linkage = #llvm.linkage<internal>} {
// CHECK:         scf.for {{%.+}} = [[BEGIN]] to [[END]] step
// CHECK:       func.func private @f_amax_0(
// CHECK:       func.func private @f_global_scale_1(
// CHECK-LABEL: func.func @f(
// CHECK-SAME:      [[A:%.+]]: memref<5xf32>, [[X:%.+]]: memref<5x2x16xbf16>, [[G:%.+]]: memref<5xf32>
// CHECK-NOT:     blockscale.kernel
// CHECK:         [[ZERO:%.+]] = arith.constant 0 : index
// CHECK:         call @f_global_scale_0([[A]], [[G]], [[ZERO]], {{%.+}}) {blockscale.parallel} : (memref<5xf32>, memref<5xf32>, index, index) -> ()
// CHECK:         call @f_amax_0([[X]], [[A]],
// CHECK:         call @f_global_scale_1([[A]], [[G]],
func.func @f(%a: memref<5xf32>, %x: memref<5x2x16xbf16>, %g: memref<5xf32>) {
  blockscale.kernel ins(%a : memref<5xf32>) outs(%g : memref<5xf32>) {
  ^bb0(%la: tensor<5xf32>, %lg: tensor<5xf32>):
    %0 = blockscale.global_scale %la : tensor<5xf32>
    blockscale.yield %0 : tensor<5xf32>
  }
  blockscale.kernel ins(%x : memref<5x2x16xbf16>) outs(%a : memref<5xf32>) {
  ^bb0(%lx: tensor<5x2x16xbf16>, %la: tensor<5xf32>):
    %0 = blockscale.amax %lx : tensor<5x2x16xbf16> -> tensor<5xf32>
    blockscale.yield %0 : tensor<5xf32>
  }
  blockscale.kernel ins(%a : memref<5xf32>) outs(%g : memref<5xf32>) {
  ^bb0(%la: tensor<5xf32>, %lg: tensor<5xf32>):
    %0 = blockscale.global_scale %la recipe te : tensor<5xf32>
    blockscale.yield %0 : tensor<5xf32>
  }
  return
}

// -----

// A name that is taken is not taken twice.
// CHECK-LABEL: func.func private @f_global_scale_0()
// CHECK:       func.func private @f_global_scale_0_0(
// CHECK-LABEL: func.func @f(
// CHECK:         call @f_global_scale_0_0(
func.func private @f_global_scale_0()
func.func @f(%a: memref<f32>, %g: memref<f32>) {
  blockscale.kernel ins(%a : memref<f32>) outs(%g : memref<f32>) {
  ^bb0(%la: tensor<f32>, %lg: tensor<f32>):
    %0 = blockscale.global_scale %la : tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// -----

// Kernels that compute the same of other memory share a function. One of another recipe, one
// of another mask and one of other types have their own.
// CHECK-LABEL: func.func private @layers_hadamard_0(
// CHECK:       func.func private @layers_quantize_0(
// CHECK:       func.func private @layers_quantize_1(
// CHECK:       func.func private @layers_hadamard_1(
// CHECK:       func.func private @layers_hadamard_2(
// CHECK-NOT:   func.func private
// CHECK-LABEL: func.func @layers(
// CHECK-SAME:      [[X:%.+]]: memref<?x16xbf16>, [[Y:%.+]]: memref<?x16xbf16>, [[Z:%.+]]: memref<4x16xbf16>, [[Q:%.+]]: memref<?x8xi8>, [[S:%.+]]: memref<?x1xf8E4M3FN>
// CHECK:         call @layers_hadamard_0([[X]], [[Y]],
// CHECK:         call @layers_hadamard_0([[Y]], [[X]],
// CHECK:         call @layers_quantize_0([[X]], [[Q]], [[S]],
// CHECK:         call @layers_quantize_1([[X]], [[Q]], [[S]],
// CHECK:         call @layers_hadamard_1([[X]], [[X]],
// CHECK:         call @layers_hadamard_2([[Z]], [[Z]],
func.func @layers(%x: memref<?x16xbf16>, %y: memref<?x16xbf16>, %z: memref<4x16xbf16>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%y : memref<?x16xbf16>) {
  ^bb0(%lx: tensor<?x16xbf16>, %ly: tensor<?x16xbf16>):
    %0 = blockscale.hadamard %lx dim 1 : tensor<?x16xbf16>
    blockscale.yield %0 : tensor<?x16xbf16>
  }
  blockscale.kernel ins(%y : memref<?x16xbf16>) outs(%x : memref<?x16xbf16>) {
  ^bb0(%lx: tensor<?x16xbf16>, %ly: tensor<?x16xbf16>):
    %0 = blockscale.hadamard %lx dim 1 : tensor<?x16xbf16>
    blockscale.yield %0 : tensor<?x16xbf16>
  }
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xbf16>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x16xbf16> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  blockscale.kernel ins(%x : memref<?x16xbf16>) outs(%x : memref<?x16xbf16>) {
  ^bb0(%lx: tensor<?x16xbf16>, %ly: tensor<?x16xbf16>):
    %0 = blockscale.hadamard %lx dim 1 sign_mask 1 : tensor<?x16xbf16>
    blockscale.yield %0 : tensor<?x16xbf16>
  }
  blockscale.kernel ins(%z : memref<4x16xbf16>) outs(%z : memref<4x16xbf16>) {
  ^bb0(%lx: tensor<4x16xbf16>, %ly: tensor<4x16xbf16>):
    %0 = blockscale.hadamard %lx dim 1 : tensor<4x16xbf16>
    blockscale.yield %0 : tensor<4x16xbf16>
  }
  return
}

// -----

// Results may be yielded in another order than the op's.
// CHECK-LABEL: func.func private @swapped_quantize_0(
// CHECK-SAME:      [[X:%.+]]: memref<4x16xbf16>, [[S:%.+]]: memref<4x1xf8E4M3FN>, [[Q:%.+]]: memref<4x8xi8>,
// CHECK:         vector.load [[X]]
// CHECK:         vector.store {{%.+}}, [[Q]]
// CHECK:         vector.store {{%.+}}, [[S]]
func.func @swapped(%x: memref<4x16xbf16>, %s: memref<4x1xf8E4M3FN>, %q: memref<4x8xi8>) {
  blockscale.kernel ins(%x : memref<4x16xbf16>) outs(%s, %q : memref<4x1xf8E4M3FN>, memref<4x8xi8>) {
  ^bb0(%lx: tensor<4x16xbf16>, %ls: tensor<4x1xf8E4M3FN>, %lq: tensor<4x16xf4E2M1FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
    blockscale.yield %1, %0 : tensor<4x1xf8E4M3FN>, tensor<4x16xf4E2M1FN>
  }
  return
}
