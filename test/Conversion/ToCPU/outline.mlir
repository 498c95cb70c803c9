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
