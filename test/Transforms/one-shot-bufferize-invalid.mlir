// RUN: blockscale-opt %s -one-shot-bufferize=bufferize-function-boundaries -verify-diagnostics

// Upstream's own pass reaches the kernel's bufferization, which refuses.
func.func @kernel(%x: tensor<4x16xbf16>, %qi: tensor<4x16xf4E2M1FN>, %si: tensor<4x1xf8E4M3FN>) {
  // expected-error @below {{'blockscale.kernel' op expected operands in storage form before bufferization (run blockscale-materialize-storage), but got 'tensor<4x16xf4E2M1FN>'}}
  // expected-error @below {{failed to bufferize op}}
  %q, %s = blockscale.kernel ins(%x : tensor<4x16xbf16>) outs(%qi, %si : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x16xbf16>, %lq: tensor<4x16xf4E2M1FN>, %ls: tensor<4x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x16xbf16> -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  } -> tensor<4x16xf4E2M1FN>, tensor<4x1xf8E4M3FN>
  return
}
