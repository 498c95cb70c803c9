// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a | FileCheck %s

// What a strip kernel decodes has the sizes of its codes, which the host asserts: memory of the
// function may have others.
// CHECK-LABEL: func.func @decoded(
// CHECK-SAME:      %[[X:[a-z0-9]+]]: memref<?x64xbf16>, %[[V:[a-z0-9]+]]: memref<64x?xf32>)
// CHECK-DAG:     %[[ROWS:.+]] = memref.dim %[[X]], %{{.+}}
// CHECK-DAG:     %[[FOUND:.+]] = memref.dim %[[V]], %{{.+}}
// CHECK:         %[[SAME:.+]] = arith.cmpi eq, %[[FOUND]], %[[ROWS]]
// CHECK:         cf.assert %[[SAME]], "dequantize: expected dimension 1 of the result to fit the shape of x"
// CHECK:         gpu.launch_func @blockscale_kernels::@quantize_32x1_e4m3_rceil_bf16_k64_transposed_decoded_f32_sm90
func.func @decoded(%x: memref<?x64xbf16>, %v: memref<64x?xf32>) {
  blockscale.kernel ins(%x : memref<?x64xbf16>) outs(%v : memref<64x?xf32>) family strips {
  ^bb0(%lx: tensor<?x64xbf16>, %lv: tensor<64x?xf32>):
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed : tensor<?x64xbf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
    %2 = blockscale.dequantize %0, %1 block [1, 32] : tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU> -> tensor<64x?xf32>
    blockscale.yield %2 : tensor<64x?xf32>
  }
  return
}
