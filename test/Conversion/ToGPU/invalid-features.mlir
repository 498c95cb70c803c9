// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_89 --split-input-file --verify-diagnostics

// Products need an instruction that the chip does not have: the message names it,
// and the targets that do.
func.func @scaled_mm(%a: memref<48x32xi8>, %b: memref<40x32xi8>, %sa: memref<48x4xf8E4M3FN>, %sb: memref<40x4xf8E4M3FN>, %y: memref<48x40xf32>) {
  blockscale.kernel ins(%a, %b, %sa, %sb : memref<48x32xi8>, memref<40x32xi8>, memref<48x4xf8E4M3FN>, memref<40x4xf8E4M3FN>) outs(%y : memref<48x40xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %lb: tensor<40x64xf4E2M1FN>, %lsa: tensor<48x4xf8E4M3FN>, %lsb: tensor<40x4xf8E4M3FN>, %ly: tensor<48x40xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op needs tcgen05.mma.block_scale, wgmma.mma_async or mma.sync.block_scale, which sm_89 lacks: expected the CPU, or one of sm_90a, sm_100a, sm_103a, sm_110a, sm_120a, sm_121a}}
    %0 = blockscale.scaled_mm %la, %lb scales(%lsa, %lsb) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
    blockscale.yield %0 : tensor<48x40xf32>
  }
  return
}
