// Quantizes activations to NVFP4: E2M1 codes, one E4M3 scale for every 16 elements
// of a row, and one f32 global scale for the tensor (its decode scale, amax / 2688).
// The encoding says how the block scales lie in memory: in the 128x4 tiles that
// block-scaled tensor cores read. The number of rows is known only at run time.

#swizzled = #blockscale.layout<swizzle_128x4>

func.func @quantize(%x: tensor<?x4096xbf16>, %global: tensor<f32>)
    -> (tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>) {
  %data, %scales = blockscale.quantize %x block [1, 16] recipe torchao
      global_scale(%global : tensor<f32>)
      : tensor<?x4096xbf16>
     -> tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>
  return %data, %scales : tensor<?x4096xf4E2M1FN>, tensor<?x256xf8E4M3FN, #swizzled>
}
