// Kernels call nothing of CUDA's device library, so that it does not matter whether the folder of
// CUDA that the environment names is there, or has that library: PTX is the same, and nothing is
// said.
// RUN: mkdir -p %t/empty
// RUN: env CUDA_HOME=%t/none blockscale-compile %s --target=sm_90a --emit=ptx -o %t/none.ptx 2>&1 | count 0
// RUN: env CUDA_ROOT=%t/empty blockscale-compile %s --target=sm_90a --emit=ptx -o %t/empty.ptx 2>&1 | count 0
// RUN: env -u CUDA_ROOT -u CUDA_HOME -u CUDA_PATH blockscale-compile %s --target=sm_90a --emit=ptx -o %t/unset.ptx 2>&1 | count 0
// RUN: diff %t/unset.ptx %t/none.ptx
// RUN: diff %t/unset.ptx %t/empty.ptx

func.func @quantize(%x: tensor<64x64xbf16>) -> (tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<64x64xbf16> -> tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
  return %q, %s : tensor<64x64xf4E2M1FN>, tensor<64x4xf8E4M3FN>
}
