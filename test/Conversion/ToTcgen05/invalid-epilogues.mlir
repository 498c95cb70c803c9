// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --split-input-file --verify-diagnostics

#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(i, j) -> (i, j)>

// Half a tile of 128 columns has no scales of its own.
func.func @sm100_mm_c4_products(%a: memref<64x64xf8E4M3FN>, %b: memref<64x64xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<64x64xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<64x64xf8E4M3FN>, memref<64x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<64x64xf32>) {
  ^bb0(%la: tensor<64x64xf8E4M3FN>, %lb: tensor<64x64xf8E4M3FN>, %ls: tensor<64x2xf8E8M0FNU, #swizzled>, %ly: tensor<64x64xf32>):
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c4): expected a schedule of two products to have 256 columns, but got 128}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 128, stages = 4, band = 8, ctas = 148>}
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    %1 = blockscale.scaled_mm %la, %lb scales(%ls, %ls) block [1, 32]
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    %e = tensor.empty() : tensor<64x64xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %3 = arith.addf %p, %q : f32
      linalg.yield %3 : f32
    } -> tensor<64x64xf32>
    blockscale.yield %2 : tensor<64x64xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>

// What a kernel makes of a product is all that it has of it.
func.func @epilogue_c1(%a: memref<64x64xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<64x64xf32>, %q: memref<64x64xf8E4M3FN>, %t: memref<64x2xf8E8M0FNU>) {
  blockscale.kernel ins(%a, %s : memref<64x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y, %q, %t : memref<64x64xf32>, memref<64x64xf8E4M3FN>, memref<64x2xf8E8M0FNU>) {
  ^bb0(%la: tensor<64x64xf8E4M3FN>, %ls: tensor<64x2xf8E8M0FNU, #swizzled>, %ly: tensor<64x64xf32>, %lq: tensor<64x64xf8E4M3FN>, %lt: tensor<64x2xf8E8M0FNU>):
    // expected-error @below {{'blockscale.scaled_mm' op does not share its kernel (epilogue_c1): expected each op to be the one use of what is computed before, but got 'blockscale.quantize'}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 32]
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    %d, %e = blockscale.quantize %0 block [1, 32] : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
    blockscale.yield %0, %d, %e : tensor<64x64xf32>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(i, j) -> (i, j)>

// The products of a kernel run by one schedule.
func.func @sm100_mm_c4_schedules(%a: memref<64x64xf8E4M3FN>, %b: memref<64x64xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<64x64xf32>) {
  blockscale.kernel ins(%a, %b, %s : memref<64x64xf8E4M3FN>, memref<64x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<64x64xf32>) {
  ^bb0(%la: tensor<64x64xf8E4M3FN>, %lb: tensor<64x64xf8E4M3FN>, %ls: tensor<64x2xf8E8M0FNU, #swizzled>, %ly: tensor<64x64xf32>):
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148>}
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    // expected-error @below {{'blockscale.scaled_mm' op has no kernel on sm_100a (sm100_mm_c4): expected the products of a kernel to have one schedule, #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 4, band = 8, ctas = 148>, but got #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 8, ctas = 148>}}
    %1 = blockscale.scaled_mm %la, %lb scales(%ls, %ls) block [1, 32]
        {blockscale.schedule = #blockscale.gemm_schedule<rows = 128, cols = 256, stages = 3, band = 8, ctas = 148>}
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    %empty2 = tensor.empty() : tensor<64x64xf32>
    %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty2 : tensor<64x64xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s2 = arith.addf %p, %q : f32
      linalg.yield %s2 : f32
    } -> tensor<64x64xf32>
    blockscale.yield %2 : tensor<64x64xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(i, j) -> (i, j)>

// An amax beside a product is none of what follows it.
func.func @amax_beside(%a: memref<64x64xf8E4M3FN>, %x: memref<64x64xf32>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<64x64xf32>, %m: memref<f32>) {
  blockscale.kernel ins(%a, %x, %s : memref<64x64xf8E4M3FN>, memref<64x64xf32>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y, %m : memref<64x64xf32>, memref<f32>) {
  ^bb0(%la: tensor<64x64xf8E4M3FN>, %lx: tensor<64x64xf32>, %ls: tensor<64x2xf8E8M0FNU, #swizzled>, %ly: tensor<64x64xf32>, %lm: tensor<f32>):
    // expected-error @below {{'blockscale.scaled_mm' op does not share its kernel (epilogue_c1): expected each op to be the one use of what is computed before, but got 'blockscale.amax'}}
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 32]
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    %1 = blockscale.amax %lx : tensor<64x64xf32> -> tensor<f32>
    blockscale.yield %0, %1 : tensor<64x64xf32>, tensor<f32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(i, j) -> (i, j)>

// What a product multiplies comes from memory.
func.func @operand_of_the_body(%x: memref<64x64xf32>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<64x64xf32>) {
  blockscale.kernel ins(%x, %s : memref<64x64xf32>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<64x64xf32>) {
  ^bb0(%lx: tensor<64x64xf32>, %ls: tensor<64x2xf8E8M0FNU, #swizzled>, %ly: tensor<64x64xf32>):
    %d, %e = blockscale.quantize %lx block [1, 32] : tensor<64x64xf32> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
    // expected-error @below {{'blockscale.scaled_mm' op expected operands that are inputs of the kernel, or of other ops that compute, on this target, but got one of 'blockscale.quantize'}}
    %0 = blockscale.scaled_mm %d, %d scales(%ls, %ls) block [1, 32]
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    blockscale.yield %0 : tensor<64x64xf32>
  }
  return
}

// -----

#swizzled = #blockscale.layout<swizzle_128x4>
#id = affine_map<(i, j) -> (i, j)>

// So does what its sums are added to.
func.func @input_of_the_body(%a: memref<64x64xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<64x64xf32>) {
  blockscale.kernel ins(%a, %s : memref<64x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<64x64xf32>) {
  ^bb0(%la: tensor<64x64xf8E4M3FN>, %ls: tensor<64x2xf8E8M0FNU, #swizzled>, %ly: tensor<64x64xf32>):
    // expected-error @below {{'tensor.empty' op expected elementwise ops after a product to take products, inputs of the kernel and constants, but got this op}}
    %e = tensor.empty() : tensor<64x64xf32>
    %0 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 32]
        : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #swizzled>, tensor<64x2xf8E8M0FNU, #swizzled> -> tensor<64x64xf32>
    %empty1 = tensor.empty() : tensor<64x64xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %e : tensor<64x64xf32>, tensor<64x64xf32>) outs(%empty1 : tensor<64x64xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s1 = arith.addf %p, %q : f32
      linalg.yield %s1 : f32
    } -> tensor<64x64xf32>
    blockscale.yield %1 : tensor<64x64xf32>
  }
  return
}
