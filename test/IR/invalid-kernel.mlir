// RUN: blockscale-opt %s -split-input-file -verify-diagnostics

func.func @kernel_c1(%x: tensor<4x32xf32>, %o: tensor<f32>) {
  // expected-error @below {{expected one block argument for each of the 2 operands, but got 1}}
  %0 = blockscale.kernel ins(%x : tensor<4x32xf32>) outs(%o : tensor<f32>) {
  ^bb0(%lx: tensor<4x32xf32>):
    %1 = blockscale.amax %lx : tensor<4x32xf32> -> tensor<f32>
    blockscale.yield %1 : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

// A linear scale passed off as a swizzled one.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @kernel_c2_layout(%s: tensor<200x5xf8E4M3FN>, %o: tensor<200x5xf8E4M3FN>) {
  // expected-error @below {{expected operand 0 to be 'tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>', its storage form or a memref of that, but got 'tensor<200x5xf8E4M3FN>'}}
  %0 = blockscale.kernel ins(%s : tensor<200x5xf8E4M3FN>) outs(%o : tensor<200x5xf8E4M3FN>) {
  ^bb0(%ls: tensor<200x5xf8E4M3FN, #swizzled>, %lo: tensor<200x5xf8E4M3FN>):
    %1 = blockscale.swizzle %ls : tensor<200x5xf8E4M3FN, #swizzled> -> tensor<200x5xf8E4M3FN>
    blockscale.yield %1 : tensor<200x5xf8E4M3FN>
  } -> tensor<200x5xf8E4M3FN>
  return
}

// -----

// A memref of one byte an element does not hold packed data.
func.func @kernel_c2_memref(%x: memref<4x32xf32>, %q: memref<4x32xi8>, %s: memref<4x2xf8E4M3FN>) {
  // expected-error @below {{expected operand 1 to be 'tensor<4x32xf4E2M1FN>', its storage form or a memref of that, but got 'memref<4x32xi8>'}}
  blockscale.kernel ins(%x : memref<4x32xf32>) outs(%q, %s : memref<4x32xi8>, memref<4x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x32xf32>, %lq: tensor<4x32xf4E2M1FN>, %ls: tensor<4x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x32xf32> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  }
  return
}

// -----

func.func @kernel_c2_scalar(%x: index, %o: tensor<f32>) {
  // expected-error @below {{expected operand 0 to be 'i64', its storage form or a memref of that, but got 'index'}}
  %0 = blockscale.kernel ins(%x : index) outs(%o : tensor<f32>) {
  ^bb0(%lx: i64, %lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c3_count(%o: tensor<f32>) {
  %0 = blockscale.kernel outs(%o : tensor<f32>) {
  ^bb0(%lo: tensor<f32>):
    // expected-error @below {{expected one value for each of the 1 outputs, but got 2}}
    blockscale.yield %lo, %lo : tensor<f32>, tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c3_type(%x: tensor<4x32xf32>, %o: tensor<f32>) {
  %0 = blockscale.kernel ins(%x : tensor<4x32xf32>) outs(%o : tensor<f32>) {
  ^bb0(%lx: tensor<4x32xf32>, %lo: tensor<f32>):
    // expected-error @below {{expected a value of the output's type 'tensor<f32>', but got 'tensor<4x32xf32>'}}
    blockscale.yield %lx : tensor<4x32xf32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c3_terminator(%o: tensor<f32>) {
  // expected-error @below {{expects regions to end with 'blockscale.yield', found 'llvm.unreachable'}}
  // expected-note @below {{the absence of terminator implies 'blockscale.yield'}}
  %0 = blockscale.kernel outs(%o : tensor<f32>) {
  ^bb0(%lo: tensor<f32>):
    llvm.unreachable
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c4_mixture(%o: tensor<f32>, %p: memref<f32>) {
  // expected-error @below {{expected outputs to be all ranked tensors or all memrefs, but got a mixture}}
  %0 = blockscale.kernel outs(%o, %p : tensor<f32>, memref<f32>) {
  ^bb0(%lo: tensor<f32>, %lp: tensor<f32>):
    blockscale.yield %lo, %lp : tensor<f32>, tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c4_missing_result(%o: tensor<f32>) {
  // expected-error @below {{expected one result of the type of each output}}
  blockscale.kernel outs(%o : tensor<f32>) {
  ^bb0(%lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  }
  return
}

// -----

func.func @kernel_c4_excess_result(%o: memref<f32>) {
  // expected-error @below {{expected no results with memref outputs, but got 1}}
  %0 = blockscale.kernel outs(%o : memref<f32>) {
  ^bb0(%lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @yield_parent(%x: tensor<f32>) {
  // expected-error @below {{expects parent op 'blockscale.kernel'}}
  blockscale.yield %x : tensor<f32>
}

// -----

// What the body uses comes in as an operand.
func.func @isolated(%x: tensor<f32>, %o: tensor<f32>) {
  // expected-note @below {{required by region isolation constraints}}
  %0 = blockscale.kernel outs(%o : tensor<f32>) {
  ^bb0(%lo: tensor<f32>):
    // expected-error @below {{using value defined outside the region}}
    blockscale.yield %x : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

// A use before the body of a value that the body defines, when the rest of the
// kernel does not parse.
func.func @use_of_body(%x: tensor<4x4xf32>) {
  %u = arith.addf %0, %0 : tensor<4x4xf32>
  blockscale.kernel ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    %0 = arith.addf %a, %b : tensor<4x4xf32>
    blockscale.yield %0 : tensor<4x4xf32>
  // expected-error @below {{expected non-function type}}
  } -> none_type
  return
}

// -----

func.func @kernel_c5(%o: tensor<f32>) {
  // expected-error @below {{expected blockscale.fusion to be a dictionary, but got "together"}}
  %0 = blockscale.kernel outs(%o : tensor<f32>) attributes {blockscale.fusion = "together"} {
  ^bb0(%lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c5_form(%o: tensor<f32>) {
  // expected-error @below {{expected the form of blockscale.fusion to be together, kept or recomputed, but got {form = "apart"}}}
  %0 = blockscale.kernel outs(%o : tensor<f32>) attributes {blockscale.fusion = {form = "apart"}} {
  ^bb0(%lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c5_name(%o: tensor<f32>) {
  // expected-error @below {{expected blockscale.fusion to have costs of together, kept, recomputed and apart, but got 'bytes'}}
  %0 = blockscale.kernel outs(%o : tensor<f32>) attributes {blockscale.fusion = {bytes = 4, form = "kept"}} {
  ^bb0(%lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c5_cost(%o: tensor<f32>) {
  // expected-error @below {{expected bytes, launches and ns, each an i64 of 0 or more, for 'kept' of blockscale.fusion, but got {bytes = 4 : i64, launches = 1 : i64, ns = -1 : i64}}}
  %0 = blockscale.kernel outs(%o : tensor<f32>) attributes {blockscale.fusion = {form = "kept", kept = {bytes = 4, launches = 1, ns = -1}}} {
  ^bb0(%lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c6_rows(%x: tensor<32x32xbf16>, %o: tensor<f32>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'rows' to have one quantization, which may be decoded or prepacked, what its global operand is computed from, and elementwise ops, but got blockscale.amax}}
  %r = blockscale.kernel ins(%x : tensor<32x32xbf16>) outs(%o : tensor<f32>) family rows {
  ^bb0(%lx: tensor<32x32xbf16>, %lo: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<32x32xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c6_block(%x: tensor<32x32xbf16>, %o: tensor<32x32xf8E4M3FN>, %p: tensor<1x1xf8E8M0FNU>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'rows' to have blocks of one row, but got [32, 32]}}
  %r:2 = blockscale.kernel ins(%x : tensor<32x32xbf16>) outs(%o, %p : tensor<32x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>) family rows {
  ^bb0(%lx: tensor<32x32xbf16>, %lo: tensor<32x32xf8E4M3FN>, %lp: tensor<1x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 32] : tensor<32x32xbf16> -> tensor<32x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<32x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  } -> tensor<32x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  return
}

// -----

func.func @kernel_c6_strips(%x: tensor<32x32xf8E4M3FN>, %s: tensor<32x1xf8E8M0FNU>, %o: tensor<32x32xf32>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'strips' to have quantizations, which may be decoded, with what their global operands are computed from, or amaxes, or amax_parts alone, with transforms and elementwise ops, but got blockscale.dequantize}}
  %r = blockscale.kernel ins(%x, %s : tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>) outs(%o : tensor<32x32xf32>) family strips {
  ^bb0(%lx: tensor<32x32xf8E4M3FN>, %ls: tensor<32x1xf8E8M0FNU>, %lo: tensor<32x32xf32>):
    %0 = blockscale.dequantize %lx, %ls block [1, 32] : tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU> -> tensor<32x32xf32>
    blockscale.yield %0 : tensor<32x32xf32>
  } -> tensor<32x32xf32>
  return
}

// -----

// A scale that is none of what the kernel quantizes under.
func.func @kernel_c6_other_scale(%a: tensor<f32>, %b: tensor<f32>, %x: tensor<32x32xbf16>, %o: tensor<32x32xf4E2M1FN>, %p: tensor<2x2xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'strips' to have quantizations, which may be decoded, with what their global operands are computed from, or amaxes, or amax_parts alone, with transforms and elementwise ops, but got blockscale.global_scale, blockscale.quantize}}
  %r:3 = blockscale.kernel ins(%a, %b, %x : tensor<f32>, tensor<f32>, tensor<32x32xbf16>) outs(%s, %o, %p : tensor<f32>, tensor<32x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>) family strips {
  ^bb0(%la: tensor<f32>, %lb: tensor<f32>, %lx: tensor<32x32xbf16>, %lt: tensor<f32>, %lo: tensor<32x32xf4E2M1FN>, %lp: tensor<2x2xf8E4M3FN>):
    %g = blockscale.global_scale %la recipe te : tensor<f32>
    %0, %1 = blockscale.quantize %lx block [16, 16] recipe te global_amax(%lb : tensor<f32>) : tensor<32x32xbf16> -> tensor<32x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
    blockscale.yield %g, %0, %1 : tensor<f32>, tensor<32x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  } -> tensor<f32>, tensor<32x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  return
}

// -----

// Parts of an amax that the kernel quantizes beside.
func.func @kernel_c6_parts(%x: tensor<32x32xbf16>, %o: tensor<32x32xf4E2M1FN>, %p: tensor<2x2xf8E4M3FN>, %s: tensor<1x512xf32>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'strips' to have quantizations, which may be decoded, with what their global operands are computed from, or amaxes, or amax_parts alone, with transforms and elementwise ops, but got blockscale.amax_parts, blockscale.quantize}}
  %r:3 = blockscale.kernel ins(%x : tensor<32x32xbf16>) outs(%s, %o, %p : tensor<1x512xf32>, tensor<32x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>) family strips {
  ^bb0(%lx: tensor<32x32xbf16>, %lt: tensor<1x512xf32>, %lo: tensor<32x32xf4E2M1FN>, %lp: tensor<2x2xf8E4M3FN>):
    %g = blockscale.amax_parts %lx : tensor<32x32xbf16> -> tensor<1x512xf32>
    %0, %1 = blockscale.quantize %lx block [16, 16] : tensor<32x32xbf16> -> tensor<32x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
    blockscale.yield %g, %0, %1 : tensor<1x512xf32>, tensor<32x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  } -> tensor<1x512xf32>, tensor<32x32xf4E2M1FN>, tensor<2x2xf8E4M3FN>
  return
}

// -----

func.func @kernel_c6_program(%x: tensor<32x32xbf16>, %o: tensor<32x32xbf16>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'program' to have linalg ops that reduce rows, and quantizations or one amax_parts, but got linalg.generic}}
  %r = blockscale.kernel ins(%x : tensor<32x32xbf16>) outs(%o : tensor<32x32xbf16>) family program {
  ^bb0(%lx: tensor<32x32xbf16>, %lo: tensor<32x32xbf16>):
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%lx : tensor<32x32xbf16>) outs(%lo : tensor<32x32xbf16>) {
    ^bb0(%v: bf16, %w: bf16):
      %n = arith.negf %v : bf16
      linalg.yield %n : bf16
    } -> tensor<32x32xbf16>
    blockscale.yield %0 : tensor<32x32xbf16>
  } -> tensor<32x32xbf16>
  return
}

// -----

func.func @kernel_c6_product(%x: tensor<32x32xbf16>, %o: tensor<32x32xf8E4M3FN>, %p: tensor<32x1xf8E8M0FNU>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'product' to have products, with elementwise ops and at most one quantization, but got blockscale.quantize}}
  %r:2 = blockscale.kernel ins(%x : tensor<32x32xbf16>) outs(%o, %p : tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>) family product {
  ^bb0(%lx: tensor<32x32xbf16>, %lo: tensor<32x32xf8E4M3FN>, %lp: tensor<32x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<32x32xbf16> -> tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>
  } -> tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>
  return
}

// -----

func.func @kernel_c6_elementwise(%x: tensor<32x32xbf16>, %o: tensor<f32>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'elementwise' to have elementwise ops only, but got blockscale.amax}}
  %r = blockscale.kernel ins(%x : tensor<32x32xbf16>) outs(%o : tensor<f32>) family elementwise {
  ^bb0(%lx: tensor<32x32xbf16>, %lo: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<32x32xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

func.func @kernel_c6_op(%x: tensor<32x32xbf16>, %o: tensor<32x32xf8E4M3FN>, %p: tensor<32x1xf8E8M0FNU>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'op' to have one op that is no quantization and no product, but got blockscale.quantize}}
  %r:2 = blockscale.kernel ins(%x : tensor<32x32xbf16>) outs(%o, %p : tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>) family op {
  ^bb0(%lx: tensor<32x32xbf16>, %lo: tensor<32x32xf8E4M3FN>, %lp: tensor<32x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<32x32xbf16> -> tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>
  } -> tensor<32x32xf8E4M3FN>, tensor<32x1xf8E8M0FNU>
  return
}

// -----

func.func @kernel_c6_none(%o: tensor<f32>) {
  // expected-error @below {{expected a kernel of family 'elementwise' to have elementwise ops only, but got none}}
  %0 = blockscale.kernel outs(%o : tensor<f32>) family elementwise {
  ^bb0(%lo: tensor<f32>):
    blockscale.yield %lo : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

// What is quantized in strips is decoded once there.
func.func @kernel_c6_decoder(%x: tensor<64x32xbf16>, %v: tensor<64x32xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>) {
  // expected-error @below {{'blockscale.kernel' op expected a kernel of family 'strips' to have quantizations, which may be decoded, with what their global operands are computed from, or amaxes, or amax_parts alone, with transforms and elementwise ops, but got blockscale.quantize, blockscale.dequantize, blockscale.dequantize}}
  %0:2 = blockscale.kernel ins(%x : tensor<64x32xbf16>) outs(%v, %v : tensor<64x32xbf16>, tensor<64x32xbf16>) family strips {
  ^bb0(%lx: tensor<64x32xbf16>, %lv: tensor<64x32xbf16>, %lw: tensor<64x32xbf16>):
    %q, %s = blockscale.quantize %lx block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    %1 = blockscale.dequantize %q, %s block [1, 32] : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU> -> tensor<64x32xbf16>
    %2 = blockscale.dequantize %q, %s block [1, 32] : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU> -> tensor<64x32xbf16>
    blockscale.yield %1, %2 : tensor<64x32xbf16>, tensor<64x32xbf16>
  } -> tensor<64x32xbf16>, tensor<64x32xbf16>
  return %0#0, %0#1 : tensor<64x32xbf16>, tensor<64x32xbf16>
}
