// RUN: blockscale-opt %s -verify-roundtrip

// The examples of the op and attribute descriptions (include/blockscale/IR/*.td),
// line by line, in functions that declare their operands.
// test/Python/test_docs_op_examples.py finds each example in this file.

func.func private @layout(
    tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>,
    tensor<4x256xf8E4M3FN, #blockscale.layout<swizzle_8x4>>,
    tensor<70x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>>,
    tensor<?x3xf8E8M0FNU, #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>>)

func.func private @data_layout(
    tensor<200x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>)

module attributes {gpu.container_module} {
  gpu.module @kernels [#blockscale.target<chip = "sm_100a">] {}
}

func.func @amax_over_ranks(%a: tensor<f32>) {
  %r = blockscale.amax_over_ranks %a : tensor<f32> -> tensor<f32>
  return
}

func.func @scale_dim(%y: tensor<64x96xbf16>) {
  %w, %t = blockscale.quantize %y block [32, 32] scale_dim k
      : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  return
}

func.func @global_scaling(%a: tensor<48x256xf4E2M1FN>, %b: tensor<40x256xf4E2M1FN>,
                          %sa: tensor<48x16xf8E4M3FN>, %sb: tensor<40x16xf8E4M3FN>,
                          %ga: tensor<f32>, %x: tensor<48x256xbf16>, %gb: tensor<f32>) {
  %z = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%ga : tensor<f32>) global_scaling after_rounding
      : tensor<48x256xf4E2M1FN>, tensor<40x256xf4E2M1FN>,
        tensor<48x16xf8E4M3FN>, tensor<40x16xf8E4M3FN> -> tensor<48x40xbf16>
  %w = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16]
      global_scale_b(%gb : tensor<f32>) global_scaling in_elements
      : tensor<48x256xbf16>, tensor<40x256xf4E2M1FN>, tensor<40x16xf8E4M3FN>
        -> tensor<48x40xbf16>
  return
}

func.func @order(%x: tensor<48x256xbf16>, %b: tensor<40x256xf4E2M1FN>,
                 %sb: tensor<40x16xf8E4M3FN>) {
  %w = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16] order chain
      : tensor<48x256xbf16>, tensor<40x256xf4E2M1FN>, tensor<40x16xf8E4M3FN>
        -> tensor<48x40xbf16>
  return
}

func.func @amax(%x: tensor<64x128xbf16>, %w: tensor<8x64x128xbf16>, %ends: tensor<3xi32>) {
  %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  %r = blockscale.amax %x : tensor<64x128xbf16> -> tensor<64xf32>
  %e = blockscale.amax %w : tensor<8x64x128xbf16> -> tensor<8xf32>
  %g = blockscale.amax %x offsets(%ends : tensor<3xi32>) : tensor<64x128xbf16> -> tensor<3xf32>
  %p = blockscale.amax_parts %x : tensor<64x128xbf16> -> tensor<1x1024xf32>
  return
}

func.func @global_scale(%a: tensor<f32>) {
  %g = blockscale.global_scale %a recipe torchao : tensor<f32>
  %h = blockscale.global_scale %a recipe torchao nonzero_amax : tensor<f32>
  return
}

func.func @scale_sweep(%x: tensor<64x128xbf16>, %a: tensor<f32>) {
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)
      : tensor<64x128xbf16> -> tensor<64x8xf32>
  return
}

func.func @hadamard(%x: tensor<64x128xbf16>) {
  %y = blockscale.hadamard %x dim 0 : tensor<64x128xbf16>
  %z = blockscale.hadamard %x dim 1 sign_mask 0 : tensor<64x128xbf16>
  return
}

func.func @pad_groups(%x: tensor<96x128xbf16>, %ends: tensor<3xi32>) {
  %p, %pe = blockscale.pad_groups %x offsets(%ends : tensor<3xi32>) unit 32
      : tensor<96x128xbf16> -> tensor<160x128xbf16>
  return
}

func.func @quantize(%x: tensor<200x80xbf16>, %g: tensor<f32>, %y: tensor<64x96xbf16>) {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<200x80xbf16>
     -> tensor<200x80xf4E2M1FN>, tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  %w, %t = blockscale.quantize %y block [32, 32] scale_dim k
      : tensor<64x96xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  return
}

func.func @dequantize(%q: tensor<64x96xf8E4M3FN>, %s: tensor<64x3xf8E8M0FNU>) {
  %x = blockscale.dequantize %q, %s block [1, 32]
      : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU> -> tensor<64x96xbf16>
  return
}

func.func @swizzle(%s: tensor<200x5xf8E4M3FN>,
                   %d: tensor<?x?xf8E4M3FN, #blockscale.layout<swizzle_128x4>>,
                   %r: index, %c: index) {
  %t = blockscale.swizzle %s
      : tensor<200x5xf8E4M3FN> -> tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>
  %u = blockscale.swizzle %d sizes(%r, %c)
      : tensor<?x?xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<?x?xf8E4M3FN>
  return
}

func.func @prepack(%w: tensor<200x256xf4E2M1FN>,
                   %q: tensor<?x256xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>,
                   %n: index) {
  %p = blockscale.prepack %w
      : tensor<200x256xf4E2M1FN> -> tensor<200x256xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>
  %v = blockscale.prepack %q sizes(%n)
      : tensor<?x256xf8E4M3FN, #blockscale.data_layout<fragments_64x64>> -> tensor<?x256xf8E4M3FN>
  return
}

func.func @expand_scale(%s: tensor<8x4xf8E8M0FNU>) {
  %e = blockscale.expand_scale %s block [32, 32] scale_dim k
      : tensor<8x4xf8E8M0FNU> -> tensor<256x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
  return
}

func.func @scaled_mm(%a: tensor<48x256xf4E2M1FN>, %b: tensor<40x256xf4E2M1FN>,
                     %sa: tensor<48x16xf8E4M3FN>, %sb: tensor<40x16xf8E4M3FN>,
                     %ga: tensor<f32>, %x: tensor<48x256xbf16>, %v: tensor<40x256xbf16>,
                     %w: tensor<256x40xbf16>, %dy: tensor<48x80xbf16>,
                     %u: tensor<80x256xf4E2M1FN>, %su: tensor<80x16xf8E4M3FN>) {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      global_scale_a(%ga : tensor<f32>)
      : tensor<48x256xf4E2M1FN>, tensor<40x256xf4E2M1FN>,
        tensor<48x16xf8E4M3FN>, tensor<40x16xf8E4M3FN> -> tensor<48x40xbf16>
  %z = blockscale.scaled_mm %x, %b scales(none, %sb) block [1, 16]
      : tensor<48x256xbf16>, tensor<40x256xf4E2M1FN>, tensor<40x16xf8E4M3FN>
        -> tensor<48x40xbf16>
  %p = blockscale.scaled_mm %x, %v scales(none, none) block [1, 16]
      : tensor<48x256xbf16>, tensor<40x256xbf16> -> tensor<48x40xbf16>
  %o = blockscale.scaled_mm %x, %w mn_major_b scales(none, none) block [1, 16]
      : tensor<48x256xbf16>, tensor<256x40xbf16> -> tensor<48x40xbf16>
  %dx = blockscale.scaled_mm %dy, %u mn_major_b scales(none, %su) block [1, 16]
      : tensor<48x80xbf16>, tensor<80x256xf4E2M1FN>, tensor<80x16xf8E4M3FN>
        -> tensor<48x256xbf16>
  return
}

func.func @scaled_grouped_mm(%a: tensor<96x64xf8E4M3FN>, %b: tensor<3x48x64xf8E4M3FN>,
                             %ends: tensor<3xi32>, %sa: tensor<96x2xf8E8M0FNU>,
                             %sb: tensor<3x48x2xf8E8M0FNU>) {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<3x48x64xf8E4M3FN>, tensor<3xi32>,
        tensor<96x2xf8E8M0FNU>, tensor<3x48x2xf8E8M0FNU> -> tensor<96x48xbf16>
  return
}

func.func @kernel(%x: tensor<128x64xbf16>, %qi: tensor<128x64xf4E2M1FN>,
                  %si: tensor<128x4xf8E4M3FN>) {
  %q, %s = blockscale.kernel ins(%x : tensor<128x64xbf16>)
      outs(%qi, %si : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<128x64xbf16>, %lq: tensor<128x64xf4E2M1FN>, %ls: tensor<128x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16]
        : tensor<128x64xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  } -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  return
}

func.func @family(%x: tensor<128x64xbf16>, %qi: tensor<128x64xf4E2M1FN>,
                  %si: tensor<128x4xf8E4M3FN>) {
  %q, %s = blockscale.kernel ins(%x : tensor<128x64xbf16>)
      outs(%qi, %si : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) family rows {
  ^bb0(%lx: tensor<128x64xbf16>, %lq: tensor<128x64xf4E2M1FN>, %ls: tensor<128x4xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16]
        : tensor<128x64xbf16> -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  } -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  return
}

func.func @yield(%x: tensor<128x64xbf16>, %qi: tensor<128x64xf4E2M1FN>,
                 %si: tensor<128x4xf8E4M3FN>) {
  %0, %1 = blockscale.kernel ins(%x : tensor<128x64xbf16>)
      outs(%qi, %si : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<128x64xbf16>, %q: tensor<128x64xf4E2M1FN>, %s: tensor<128x4xf8E4M3FN>):
    blockscale.yield %q, %s : tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  } -> tensor<128x64xf4E2M1FN>, tensor<128x4xf8E4M3FN>
  return
}

func.func @tensor_map(%data: !llvm.ptr<1>, %cols: index, %rows: index, %pitch: index) {
  %map = blockscale.tensor_map %data dims[%cols, %rows] strides[%pitch]
      box [128, 128] element uint8 swizzle 128
  %codes = blockscale.tensor_map %data dims[%cols, %rows] strides[%pitch]
      box [128, 256] element u4_padded swizzle 128
  return
}

func.func private @gemm_schedule() attributes {schedule =
  #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148>
}
