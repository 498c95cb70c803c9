// Products of operands that lie MN-major have choices of their own: their sizes are where these
// operands have them, and the name says which lie so.

// RUN: blockscale-opt %s --blockscale-choose-schedules='chip=sm_90a' | FileCheck %s

// CHECK: blockscale.choices = [{function = "both", key = {{{.*}}data = "mn-major-ab", {{.*}}k = "64", m = "2048", {{.*}}n = "128", {{.*}}name = "dense-bf16-bf16-block16-mn-major-ab-f32-m2048-n128-k64"
// CHECK-SAME: {function = "packed", {{.*}}data = "prepacked-mn-major"
// CHECK-SAME: {function = "second", {{.*}}name = "rows-bf16-bf16-block16-mn-major-b-bf16-m_any-n128-k64-matrices8"
func.func @both(%a: tensor<64x2000xbf16>, %b: tensor<64x96xbf16>) -> tensor<2000x96xf32> {
  %y = blockscale.scaled_mm %a, %b mn_major_a mn_major_b scales(none, none) block [1, 16]
      : tensor<64x2000xbf16>, tensor<64x96xbf16> -> tensor<2000x96xf32>
  return %y : tensor<2000x96xf32>
}
func.func @packed(%a: tensor<32x64xbf16>, %b: tensor<64x96xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, %s: tensor<64x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>) -> tensor<32x96xf32> {
  %y = blockscale.scaled_mm %a, %b mn_major_b scales(none, %s) block [1, 32]
      : tensor<32x64xbf16>, tensor<64x96xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>, tensor<64x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4>> -> tensor<32x96xf32>
  return %y : tensor<32x96xf32>
}
func.func @second(%a: tensor<?x64xbf16>, %b: tensor<5x64x96xbf16>, %e: tensor<5xi32>) -> tensor<?x96xbf16> {
  %y = blockscale.scaled_grouped_mm %a, %b mn_major_b offsets(%e) scales(none, none) block [1, 16]
      : tensor<?x64xbf16>, tensor<5x64x96xbf16>, tensor<5xi32> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
