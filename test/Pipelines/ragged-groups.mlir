// RUN: blockscale-opt %s --blockscale-to-gpu="chip=sm_100a to=form-kernels" | FileCheck %s
// RUN: blockscale-opt %s --blockscale-to-gpu="chip=sm_120a to=form-kernels" | FileCheck %s

// The weight gradient of groups of any length is two kernels: one that pads and quantizes both
// operands, with scales in the tiles of each group, and a product. Groups are padded twice without a
// kernel for that.
// CHECK-LABEL: func.func @wgrad
// CHECK: blockscale.kernel
// CHECK: %[[X:.+]], %[[EX:.+]] = blockscale.pad_groups
// CHECK-NEXT: %[[Y:.+]], %[[EY:.+]] = blockscale.pad_groups
// CHECK-NEXT: blockscale.quantize %[[X]] {{.*}}offsets(%[[EX]] :
// CHECK-NEXT: blockscale.quantize %[[Y]] {{.*}}offsets(%[[EY]] :
// CHECK: blockscale.kernel
// CHECK: blockscale.scaled_grouped_mm
// CHECK-NOT: blockscale.kernel
func.func @wgrad(%x: tensor<?x128xbf16>, %dy: tensor<?x64xbf16>, %o: tensor<3xi32>) -> tensor<3x64x128xf32> {
  %px, %ends = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : tensor<?x128xbf16> -> tensor<?x128xbf16>
  %pdy, %same = blockscale.pad_groups %dy offsets(%o : tensor<3xi32>) unit 32 : tensor<?x64xbf16> -> tensor<?x64xbf16>
  %b, %sb = blockscale.quantize %px block [32, 1] transposed : tensor<?x128xbf16> -> tensor<128x?xf8E4M3FN>, tensor<128x?xf8E8M0FNU>
  %a, %sa = blockscale.quantize %pdy block [32, 1] transposed : tensor<?x64xbf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
  %dw = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32] : tensor<64x?xf8E4M3FN>, tensor<128x?xf8E4M3FN>, tensor<3xi32>, tensor<64x?xf8E8M0FNU>, tensor<128x?xf8E8M0FNU> -> tensor<3x64x128xf32>
  return %dw : tensor<3x64x128xf32>
}
