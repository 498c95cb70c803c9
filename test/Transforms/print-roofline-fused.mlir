// RUN: blockscale-opt %s --blockscale-print-roofline=gpu=GB200 -o /dev/null 2>&1 | FileCheck %s

// Ops of one kernel share a launch; what one makes for the other is not moved,
// and an operand given twice is read once.
// CHECK:      roofline of GB200, model exact
// CHECK-NEXT: bytes
// CHECK-NEXT: @fused 20992 57344 1 2.000
// CHECK-NEXT: kernel hadamard + quantize 64x128xbf16 20992 57344 1 2.000 launch
func.func @fused(%x: tensor<64x128xbf16>, %qi: tensor<64x128xf4E2M1FN>, %si: tensor<64x8xf8E4M3FN>)
    -> (tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>) {
  %q, %s = blockscale.kernel ins(%x, %x : tensor<64x128xbf16>, tensor<64x128xbf16>)
      outs(%qi, %si : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>) {
  ^bb0(%lx: tensor<64x128xbf16>, %ly: tensor<64x128xbf16>,
       %lq: tensor<64x128xf4E2M1FN>, %ls: tensor<64x8xf8E4M3FN>):
    %h = blockscale.hadamard %lx dim 1 : tensor<64x128xbf16>
    %0, %1 = blockscale.quantize %h block [1, 16]
        : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  } -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
  return %q, %s : tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
}
