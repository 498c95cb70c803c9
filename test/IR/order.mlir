// The order of sums of a product: parsed, printed, and dropped where it is the default.
// RUN: blockscale-opt %s | FileCheck %s
// RUN: blockscale-opt %s | blockscale-opt | FileCheck %s
// RUN: blockscale-opt %s --canonicalize | FileCheck %s --check-prefix=CANONICAL

// Free order is the default.
// CHECK-LABEL: @free
// CHECK: block [1, 16] order free bias(
// CANONICAL-LABEL: @free
// CANONICAL: scaled_mm
// CANONICAL-NOT: order
// CANONICAL: return
func.func @free(%x: tensor<8x64xbf16>, %w: tensor<16x64xf4E2M1FN>, %s: tensor<16x4xf8E4M3FN>,
                %z: tensor<16xf32>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order free bias(%z : tensor<16xf32>)
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// A chain stays, behind a place of global scales that is dropped.
// CHECK-LABEL: @chain
// CHECK: global_scaling before_rounding order chain :
// CANONICAL-LABEL: @chain
// CANONICAL: block [1, 16] order chain :
func.func @chain(%a: tensor<8x64xf4E2M1FN>, %w: tensor<16x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN>,
                 %s: tensor<16x4xf8E4M3FN>) -> tensor<8x16xbf16> {
  %y = blockscale.scaled_mm %a, %w scales(%sa, %s) block [1, 16] global_scaling before_rounding order chain
      : tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN>
        -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// Products of groups have an order, too.
// CHECK-LABEL: @groups
// CHECK: block [1, 32] order chain :
// CANONICAL-LABEL: @groups
// CANONICAL: block [1, 32] order chain :
func.func @groups(%x: tensor<8x64xbf16>, %w: tensor<2x16x64xf8E4M3FN>, %ends: tensor<2xi32>,
                  %s: tensor<2x16x2xf8E8M0FNU>) -> tensor<8x16xf32> {
  %y = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) block [1, 32] order chain
      : tensor<8x64xbf16>, tensor<2x16x64xf8E4M3FN>, tensor<2xi32>, tensor<2x16x2xf8E8M0FNU> -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
