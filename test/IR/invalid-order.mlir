// An order of sums that there is none of.
// RUN: blockscale-opt %s --split-input-file --verify-diagnostics

func.func @word(%x: tensor<8x64xbf16>, %w: tensor<16x64xf4E2M1FN>, %s: tensor<16x4xf8E4M3FN>) {
  // expected-error @below {{to be one of: free, chain}}
  // expected-error @+2 {{failed to parse BlockScale_OrderAttr}}
  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, 16] order tree
      : tensor<8x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN> -> tensor<8x16xbf16>
  return
}
