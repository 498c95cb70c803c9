// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// A constant moved apart has a name of its own where another symbol has the expected one,
// whatever that is, and is a resource where the constant is one.
// CHECK-DAG: memref.global "private" constant @w_rows_of_16_0 : memref<2x16xi8> = dense<{{\[\[}}1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0], [17, 18, 19, 20, 21, 22, 23, 24, 0, 0, 0, 0, 0, 0, 0, 0]]>
// CHECK-DAG: memref.global "private" constant @v_rows_of_16 : memref<1x16xi8> = dense_resource<v_1>
// CHECK-DAG: memref.global "private" constant @w_rows_of_16 : memref<2x16xi8> = dense<1>
memref.global "private" constant @w : memref<2x8xi8> = dense<[[1, 2, 3, 4, 5, 6, 7, 8], [17, 18, 19, 20, 21, 22, 23, 24]]>
memref.global "private" constant @w_rows_of_16 : memref<2x16xi8> = dense<1>
memref.global "private" constant @v : memref<1x8xi8> = dense_resource<v>
// What may change at run time is moved there.
memref.global "private" @mutable : memref<2x8xi8> = dense<7>

// CHECK-LABEL: func.func @constants
// CHECK-DAG: memref.get_global @w_rows_of_16_0
// CHECK-DAG: memref.get_global @v_rows_of_16
// CHECK-NOT: align_rows
// CHECK: return
func.func @constants(%s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<2x1xf32>) {
  %a = memref.get_global @w : memref<2x8xi8>
  %b = memref.get_global @v : memref<1x8xi8>
  blockscale.kernel ins(%a, %b, %s, %s : memref<2x8xi8>, memref<1x8xi8>, memref<1x1x32x4x4xf8E4M3FN>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<2x1xf32>) {
  ^bb0(%la: tensor<2x16xf4E2M1FN>, %lb: tensor<1x16xf4E2M1FN>, %ls: tensor<2x1xf8E4M3FN, #swizzled>, %lt: tensor<1x1xf8E4M3FN, #swizzled>, %ly: tensor<2x1xf32>):
    %0 = blockscale.scaled_mm %la, %lb scales(%ls, %lt) block [1, 16]
        : tensor<2x16xf4E2M1FN>, tensor<1x16xf4E2M1FN>, tensor<2x1xf8E4M3FN, #swizzled>, tensor<1x1xf8E4M3FN, #swizzled> -> tensor<2x1xf32>
    blockscale.yield %0 : tensor<2x1xf32>
  }
  return
}

// CHECK-LABEL: func.func @variable
// CHECK: %[[DATA:.+]] = memref.get_global @mutable
// CHECK: gpu.launch_func @blockscale_kernels::@align_rows_of_8
// CHECK: gpu.launch_func @blockscale_kernels::@align_rows_of_8
func.func @variable(%s: memref<1x1x32x4x4xf8E4M3FN>, %y: memref<2x2xf32>) {
  %a = memref.get_global @mutable : memref<2x8xi8>
  blockscale.kernel ins(%a, %s : memref<2x8xi8>, memref<1x1x32x4x4xf8E4M3FN>) outs(%y : memref<2x2xf32>) {
  ^bb0(%la: tensor<2x16xf4E2M1FN>, %ls: tensor<2x1xf8E4M3FN, #swizzled>, %ly: tensor<2x2xf32>):
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        : tensor<2x16xf4E2M1FN>, tensor<2x16xf4E2M1FN>, tensor<2x1xf8E4M3FN, #swizzled>, tensor<2x1xf8E4M3FN, #swizzled> -> tensor<2x2xf32>
    blockscale.yield %0 : tensor<2x2xf32>
  }
  return
}

{-#
  dialect_resources: {
    builtin: {
      // CHECK: v_1: "0x40000000090A0B0C0D0E0F100000000000000000"
      v: "0x40000000090A0B0C0D0E0F10"
    }
  }
#-}
