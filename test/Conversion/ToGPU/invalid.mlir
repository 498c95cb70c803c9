// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --split-input-file --verify-diagnostics

// Buffers that are not dense.
func.func @amax(%x: memref<48x64xbf16, strided<[128, 1]>>, %a: memref<f32>) {
  // expected-error @below {{expected operand 0 to be a memref without gaps on this target, but got 'memref<48x64xbf16, strided<[128, 1]>>'}}
  blockscale.kernel ins(%x : memref<48x64xbf16, strided<[128, 1]>>) outs(%a : memref<f32>) {
  ^bb0(%lx: tensor<48x64xbf16>, %la: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<48x64xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// -----

func.func @amax_tensor(%x: tensor<48x64xbf16>, %a: tensor<f32>) {
  // expected-error @below {{expected operand 0 to be a memref (run one-shot-bufferize), but got 'tensor<48x64xbf16>'}}
  %1 = blockscale.kernel ins(%x : tensor<48x64xbf16>) outs(%a : tensor<f32>) {
  ^bb0(%lx: tensor<48x64xbf16>, %la: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<48x64xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  } -> tensor<f32>
  return
}

// -----

// An output that is not the op's result.
func.func @amax_twice(%x: memref<48x64xbf16>, %a: memref<f32>, %b: memref<f32>) {
  // expected-error @below {{expected the body to yield each result of its ops once on this target}}
  blockscale.kernel ins(%x : memref<48x64xbf16>) outs(%a, %b : memref<f32>, memref<f32>) {
  ^bb0(%lx: tensor<48x64xbf16>, %la: tensor<f32>, %lb: tensor<f32>):
    %0 = blockscale.amax %lx : tensor<48x64xbf16> -> tensor<f32>
    blockscale.yield %0, %0 : tensor<f32>, tensor<f32>
  }
  return
}

// -----

// Several ops in a kernel: quantizations and amaxes of one x or of a transform of it, the
// same of several, or quantizations of several matrices, ...
func.func @of_two(%x: memref<64x32xbf16>, %y: memref<2x32x32xbf16>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>, %p: memref<2x32x32xf8E4M3FN>, %t: memref<2x32x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %y : memref<64x32xbf16>, memref<2x32x32xbf16>) outs(%q, %s, %p, %t : memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>, memref<2x32x32xf8E4M3FN>, memref<2x32x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x32xbf16>, %ly: tensor<2x32x32xbf16>, %lq: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>, %lp: tensor<2x32x32xf8E4M3FN>, %lt: tensor<2x32x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    // expected-error @below {{'blockscale.quantize' op does not share its kernel (beside_c1): expected x of rank 2 with columns, but got tensor<2x32x32xbf16>}}
    %2, %3 = blockscale.quantize %ly block [1, 32] : tensor<2x32x32xbf16> -> tensor<2x32x32xf8E4M3FN>, tensor<2x32x1xf8E8M0FNU>
    blockscale.yield %0, %1, %2, %3 : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>, tensor<2x32x32xf8E4M3FN>, tensor<2x32x1xf8E8M0FNU>
  }
  return
}

// -----

// ... of which an amax is another launch, ...
func.func @with_amax(%x: memref<64x32xbf16>, %y: memref<64x32xbf16>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>, %a: memref<f32>) {
  blockscale.kernel ins(%x, %y : memref<64x32xbf16>, memref<64x32xbf16>) outs(%q, %s, %a : memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>, memref<f32>) {
  ^bb0(%lx: tensor<64x32xbf16>, %ly: tensor<64x32xbf16>, %lq: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>, %la: tensor<f32>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    // expected-error @below {{'blockscale.amax' op does not share its kernel (beside_c2): expected ops that clear no memory before, but got 'blockscale.amax'}}
    %2 = blockscale.amax %ly : tensor<64x32xbf16> -> tensor<f32>
    blockscale.yield %0, %1, %2 : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>, tensor<f32>
  }
  return
}

// -----

// ... and tensors side by side that are inputs or made by elementwise ops, ...
func.func @of_transform(%x: memref<64x32xbf16>, %q: memref<64x64xf8E4M3FN>, %s: memref<2x64xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x32xbf16>) outs(%q, %s : memref<64x64xf8E4M3FN>, memref<2x64xf8E8M0FNU>) family strips {
  ^bb0(%lx: tensor<64x32xbf16>, %lq: tensor<64x64xf8E4M3FN>, %ls: tensor<2x64xf8E8M0FNU>):
    %h = blockscale.hadamard %lx dim 0 : tensor<64x32xbf16>
    // expected-error @below {{'tensor.concat' op expected tensors that are inputs of the kernel, or that elementwise ops of it make, but got one of 'blockscale.hadamard'}}
    %y = tensor.concat dim(1) %lx, %h : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x64xbf16>
    %0, %1 = blockscale.quantize %y block [32, 1] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x64xf8E4M3FN>, tensor<2x64xf8E8M0FNU>
  }
  return
}

// -----

// ... in the kernels of threads that have fragments, ...
func.func @join_of_rows(%x: memref<64x32xbf16>, %q: memref<64x64xf8E4M3FN>, %s: memref<64x2xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x32xbf16>) outs(%q, %s : memref<64x64xf8E4M3FN>, memref<64x2xf8E8M0FNU>) family rows {
  ^bb0(%lx: tensor<64x32xbf16>, %lq: tensor<64x64xf8E4M3FN>, %ls: tensor<64x2xf8E8M0FNU>):
    // expected-error @below {{'tensor.concat' op expected tensors side by side in kernels for blocks of several rows, or of several results of one x, only}}
    %y = tensor.concat dim(1) %lx, %lx : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x64xbf16>
    %0, %1 = blockscale.quantize %y block [1, 32] : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  }
  return
}

// -----

// ... nothing else, ...
func.func @with_global_scale(%x: memref<64x32xbf16>, %g: memref<f32>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>, %a: memref<f32>) {
  blockscale.kernel ins(%x, %g : memref<64x32xbf16>, memref<f32>) outs(%q, %s, %a : memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>, memref<f32>) {
  ^bb0(%lx: tensor<64x32xbf16>, %lg: tensor<f32>, %lq: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>, %la: tensor<f32>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    // expected-error @below {{'blockscale.global_scale' op expected a kernel of several ops to be quantizations and amaxes of inputs or of transforms of them on this target}}
    %2 = blockscale.global_scale %lg : tensor<f32>
    blockscale.yield %0, %1, %2 : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>, tensor<f32>
  }
  return
}

// -----

// ... in a pass that takes whole amaxes only, ...
func.func @row_amaxes(%x: memref<64x32xbf16>, %a: memref<f32>, %r: memref<64xf32>) {
  blockscale.kernel ins(%x : memref<64x32xbf16>) outs(%a, %r : memref<f32>, memref<64xf32>) {
  ^bb0(%lx: tensor<64x32xbf16>, %la: tensor<f32>, %lr: tensor<64xf32>):
    %0 = blockscale.amax %lx : tensor<64x32xbf16> -> tensor<f32>
    // expected-error @below {{'blockscale.amax' op does not share its kernel (one_read_c4): expected one amax for the tensor or each matrix, but got tensor<64xf32>}}
    %1 = blockscale.amax %lx : tensor<64x32xbf16> -> tensor<64xf32>
    blockscale.yield %0, %1 : tensor<f32>, tensor<64xf32>
  }
  return
}

// -----

// ... and no transform of a transform, ...
func.func @transform_twice(%x: memref<64x128xbf16>, %a: memref<f32>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%a : memref<f32>) {
  ^bb0(%lx: tensor<64x128xbf16>, %la: tensor<f32>):
    %h = blockscale.hadamard %lx dim 0 : tensor<64x128xbf16>
    // expected-error @below {{'blockscale.hadamard' op expected a kernel of several ops to be quantizations and amaxes of inputs}}
    %i = blockscale.hadamard %h dim 0 : tensor<64x128xbf16>
    %0 = blockscale.amax %i : tensor<64x128xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// -----

// ... by the clauses that form-kernels asks, ...
func.func @clause(%x: memref<?x32xbf16>, %q: memref<?x16xi8>, %s: memref<?x2xf8E4M3FN>, %p: memref<?x16xi8>, %t: memref<?x2xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s, %p, %t : memref<?x16xi8>, memref<?x2xf8E4M3FN>, memref<?x16xi8>, memref<?x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x2xf8E4M3FN>, %lp: tensor<?x32xf4E2M1FN>, %lt: tensor<?x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<?x32xbf16> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    // expected-error @below {{'blockscale.quantize' op does not share its kernel (one_read_c2): expected a recipe without 4over6, but got te_4over6_mse}}
    %2, %3 = blockscale.quantize %lx block [1, 16] recipe te_4over6_mse : tensor<?x32xbf16> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    blockscale.yield %0, %1, %2, %3 : tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>, tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  }
  return
}

// -----

func.func @transform_clause(%x: memref<64x32xbf16>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x32xbf16>) outs(%q, %s : memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x32xbf16>, %lq: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>):
    // expected-error @below {{'blockscale.hadamard' op does not share its kernel (rht_c1): expected groups down the columns of x (dim 0), but got dim 1}}
    %h = blockscale.hadamard %lx dim 1 : tensor<64x32xbf16>
    %0, %1 = blockscale.quantize %h block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  }
  return
}

// -----

// ... but no transform of a transform, ...
func.func @twice_transformed(%x: memref<64x128xbf16>, %q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    %h = blockscale.hadamard %lx dim 0 : tensor<64x128xbf16>
    // expected-error @below {{'blockscale.hadamard' op expected a kernel of several ops to be quantizations and amaxes of inputs or of transforms of them on this target}}
    %i = blockscale.hadamard %h dim 0 : tensor<64x128xbf16>
    %0, %1 = blockscale.quantize %i block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  }
  return
}

// -----

// ... whose result memory does not hold, ...
func.func @yielded_transform(%x: memref<64x128xbf16>, %t: memref<64x128xbf16>, %q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%t, %q, %s : memref<64x128xbf16>, memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x128xbf16>, %lt: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    // expected-error @below {{'blockscale.hadamard' op does not share its kernel (rht_c3): expected all uses to be quantizations or amaxes of its block that can share a kernel, but got 'blockscale.yield'}}
    %h = blockscale.hadamard %lx dim 0 : tensor<64x128xbf16>
    %0, %1 = blockscale.quantize %h block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %h, %0, %1 : tensor<64x128xbf16>, tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  }
  return
}

// -----

// ... and not before bufferization, ...
func.func @transformed_tensor(%x: tensor<64x128xbf16>, %q: tensor<64x128xf8E4M3FN>, %s: tensor<64x4xf8E8M0FNU>) {
  // expected-error @below {{expected operand 0 to be a memref (run one-shot-bufferize), but got 'tensor<64x128xbf16>'}}
  %2, %3 = blockscale.kernel ins(%x : tensor<64x128xbf16>) outs(%q, %s : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    %h = blockscale.hadamard %lx dim 0 : tensor<64x128xbf16>
    %0, %1 = blockscale.quantize %h block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  } -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  return
}

// -----

// ... each of whose results is an output.
func.func @two(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU>) {
  // expected-error @below {{expected the body to yield each result of its ops once on this target}}
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    %2, %3 = blockscale.quantize %lx block [1, 32] recipe floor : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %3 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// -----

func.func @nothing(%x: memref<4xf32>) {
  // expected-error @below {{expected a body with an op, but it computes nothing}}
  blockscale.kernel outs(%x : memref<4xf32>) {
  ^bb0(%lx: tensor<4xf32>):
    blockscale.yield %lx : tensor<4xf32>
  }
  return
}

// -----

// The outputs are the data and the scales.
func.func @old_scales(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    // expected-error @below {{expected the data and the scales of the quantize, each once, on this target}}
    blockscale.yield %0, %ls : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// -----

func.func @data_only(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q : memref<?x32xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    // expected-error @below {{expected the data and the scales of the quantize, each once, on this target}}
    blockscale.yield %0 : tensor<?x32xf8E4M3FN>
  }
  return
}

// -----

// Before bufferization.
func.func @tensors(%x: tensor<?x32xbf16>, %q: tensor<?x32xf8E4M3FN>, %s: tensor<?x1xf8E8M0FNU>) {
  // expected-error @below {{expected x to be a memref (run one-shot-bufferize), but got 'tensor<?x32xbf16>'}}
  %0, %1 = blockscale.kernel ins(%x : tensor<?x32xbf16>) outs(%q, %s : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %2, %3 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %2, %3 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  } -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  return
}

// -----

// Strided or shifted memrefs: each operand.
func.func @strided_x(%x: memref<?x32xbf16, strided<[64, 1]>>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU>) {
  // expected-error @below {{expected x to be a memref without gaps on this target, but got 'memref<?x32xbf16, strided<[64, 1]>>'}}
  blockscale.kernel ins(%x : memref<?x32xbf16, strided<[64, 1]>>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// -----

func.func @strided_data(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN, strided<[64, 1], offset: ?>>, %s: memref<?x1xf8E8M0FNU>) {
  // expected-error @below {{expected the data output to be a memref without gaps on this target, but got}}
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN, strided<[64, 1], offset: ?>>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// -----

func.func @strided_scales(%x: memref<?x32xbf16>, %q: memref<?x32xf8E4M3FN>, %s: memref<?x1xf8E8M0FNU, strided<[2, 1]>>) {
  // expected-error @below {{expected the scale output to be a memref without gaps on this target, but got}}
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xf8E4M3FN>, memref<?x1xf8E8M0FNU, strided<[2, 1]>>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf8E4M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// -----

func.func @strided_global(%x: memref<?x32xbf16>, %g: memref<?xf32, strided<[2]>>, %q: memref<?x16xi8>, %s: memref<?x2xf8E4M3FN>) {
  // expected-error @below {{expected the global operand to be a memref without gaps on this target, but got}}
  blockscale.kernel ins(%x, %g : memref<?x32xbf16>, memref<?xf32, strided<[2]>>) outs(%q, %s : memref<?x16xi8>, memref<?x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lg: tensor<?xf32>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<?xf32>) : tensor<?x32xbf16> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  }
  return
}

// -----

// The last dimension: static where the kernel tells rows apart, 32 bits.
func.func @dynamic_k_in_tiles(%x: memref<4x?xf32>, %q: memref<4x?xf8E4M3FN>, %s: memref<1x?x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<4x?xf32>) outs(%q, %s : memref<4x?xf8E4M3FN>, memref<1x?x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<4x?xf32>, %lq: tensor<4x?xf8E4M3FN>, %ls: tensor<4x?xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>):
    // expected-error @below {{expected a static last dimension on sm_100a with scales in tiles, but got 'tensor<4x?xf32>'}}
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<4x?xf32> -> tensor<4x?xf8E4M3FN>, tensor<4x?xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
    blockscale.yield %0, %1 : tensor<4x?xf8E4M3FN>, tensor<4x?xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>
  }
  return
}

// -----

func.func @dynamic_k_global_of_rows(%x: memref<4x?xf32>, %g: memref<4xf32>, %q: memref<4x?xi8>, %s: memref<4x?xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g : memref<4x?xf32>, memref<4xf32>) outs(%q, %s : memref<4x?xi8>, memref<4x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x?xf32>, %lg: tensor<4xf32>, %lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>):
    // expected-error @below {{expected a static last dimension on sm_100a with a global value for each row, but got 'tensor<4x?xf32>'}}
    %0, %1 = blockscale.quantize %lx block [1, 16] global_scale(%lg : tensor<4xf32>) : tensor<4x?xf32> -> tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
  }
  return
}

// -----

func.func @dynamic_k_place(%x: memref<4x?xf32>, %r: memref<4xi64>, %q: memref<4x?xi8>, %s: memref<4x?xf8E4M3FN>) {
  blockscale.kernel ins(%x, %r : memref<4x?xf32>, memref<4xi64>) outs(%q, %s : memref<4x?xi8>, memref<4x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x?xf32>, %lr: tensor<4xi64>, %lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>):
    // expected-error @below {{expected a static last dimension on sm_100a with rng that says where x lies, but got 'tensor<4x?xf32>'}}
    %0, %1 = blockscale.quantize %lx block [1, 16] rng(%lr : tensor<4xi64>) : tensor<4x?xf32> -> tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
  }
  return
}

// -----

func.func @dynamic_k_groups(%x: memref<4x?xf32>, %o: memref<2xi32>, %q: memref<4x?xi8>, %s: memref<4x?xf8E4M3FN>) {
  blockscale.kernel ins(%x, %o : memref<4x?xf32>, memref<2xi32>) outs(%q, %s : memref<4x?xi8>, memref<4x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x?xf32>, %lo: tensor<2xi32>, %lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>):
    // expected-error @below {{expected a static last dimension on sm_100a with offsets, but got 'tensor<4x?xf32>'}}
    %0, %1 = blockscale.quantize %lx block [1, 16] offsets(%lo : tensor<2xi32>) : tensor<4x?xf32> -> tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
  }
  return
}

// -----

// What is computed from columns needs to know the column.
func.func @dynamic_k_of_columns(%x: memref<4x?xf32>, %c: memref<?xf32>, %q: memref<4x?xf8E4M3FN>, %s: memref<4x?xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %c : memref<4x?xf32>, memref<?xf32>) outs(%q, %s : memref<4x?xf8E4M3FN>, memref<4x?xf8E8M0FNU>) {
  ^bb0(%lx: tensor<4x?xf32>, %lc: tensor<?xf32>, %lq: tensor<4x?xf8E4M3FN>, %ls: tensor<4x?xf8E8M0FNU>):
    %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]} ins(%lx, %lc : tensor<4x?xf32>, tensor<?xf32>) outs(%lx : tensor<4x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      linalg.yield %p : f32
    } -> tensor<4x?xf32>
    // expected-error @below {{expected a static last dimension on sm_100a with x of rows or columns, but got 'tensor<4x?xf32>'}}
    %0, %1 = blockscale.quantize %y block [1, 32] : tensor<4x?xf32> -> tensor<4x?xf8E4M3FN>, tensor<4x?xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<4x?xf8E4M3FN>, tensor<4x?xf8E8M0FNU>
  }
  return
}

// -----

func.func @huge_k(%x: memref<4x2147483648xbf16>, %q: memref<4x2147483648xf8E4M3FN>, %s: memref<4x67108864xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<4x2147483648xbf16>) outs(%q, %s : memref<4x2147483648xf8E4M3FN>, memref<4x67108864xf8E8M0FNU>) {
  ^bb0(%lx: tensor<4x2147483648xbf16>, %lq: tensor<4x2147483648xf8E4M3FN>, %ls: tensor<4x67108864xf8E8M0FNU>):
    // expected-error @below {{expected the last dimension to be below 2^31 on sm_100a, but got 2147483648}}
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<4x2147483648xbf16> -> tensor<4x2147483648xf8E4M3FN>, tensor<4x67108864xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<4x2147483648xf8E4M3FN>, tensor<4x67108864xf8E8M0FNU>
  }
  return
}

// -----

// Groups of blocks of several rows, whose scales are not laid out one by one.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @ungrouped(%x: memref<?x32xbf16>, %o: memref<2xi32>, %q: memref<32x?xf8E4M3FN>, %s: memref<1x?x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %o : memref<?x32xbf16>, memref<2xi32>) outs(%q, %s : memref<32x?xf8E4M3FN>, memref<1x?x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lo: tensor<2xi32>, %lq: tensor<32x?xf8E4M3FN>, %ls: tensor<32x?xf8E8M0FNU, #swizzled>):
    // expected-error @below {{'blockscale.quantize' op is not supported on sm_100a yet: expected linear scales with offsets and blocks of several rows, or a grouped layout, but got an ungrouped one}}
    %0, %1 = blockscale.quantize %lx block [32, 1] transposed offsets(%lo : tensor<2xi32>) group_dim 0 : tensor<?x32xbf16> -> tensor<32x?xf8E4M3FN>, tensor<32x?xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<32x?xf8E4M3FN>, tensor<32x?xf8E8M0FNU, #swizzled>
  }
  return
}

// -----

func.func @strided_block_amax(%x: memref<?x32xbf16>, %a: memref<?x2xf32, strided<[4, 1]>>, %q: memref<?x16xi8>, %s: memref<?x2xf8E4M3FN>) {
  // expected-error @below {{expected block_amax to be a memref without gaps on this target, but got}}
  blockscale.kernel ins(%x, %a : memref<?x32xbf16>, memref<?x2xf32, strided<[4, 1]>>) outs(%q, %s : memref<?x16xi8>, memref<?x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xbf16>, %la: tensor<?x2xf32>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] block_amax(%la : tensor<?x2xf32>) : tensor<?x32xbf16> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  }
  return
}

// -----

// Elementwise ops make what the other ops read.
#id = affine_map<(i, j) -> (i, j)>
func.func @other_producer(%x: memref<64x32xbf16>, %y: memref<64x32xbf16>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x32xbf16>) outs(%y, %q, %s : memref<64x32xbf16>, memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x32xbf16>, %ly: tensor<64x32xbf16>, %lq: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>):
    %e = tensor.empty() : tensor<64x32xbf16>
    // expected-error @below {{'linalg.generic' op expected elementwise ops of a kernel to make what its other ops read, or its result, from inputs of the kernel}}
    %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%lx : tensor<64x32xbf16>) outs(%e : tensor<64x32xbf16>) {
    ^bb0(%p: bf16, %o: bf16):
      linalg.yield %p : bf16
    } -> tensor<64x32xbf16>
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    blockscale.yield %2, %0, %1 : tensor<64x32xbf16>, tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  }
  return
}

// -----

func.func @of_transform(%x: memref<64x32xbf16>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x32xbf16>) outs(%q, %s : memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x32xbf16>, %lq: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>):
    %e = tensor.empty() : tensor<64x32xbf16>
    %h = blockscale.hadamard %lx dim 0 : tensor<64x32xbf16>
    // expected-error @below {{'linalg.generic' op expected elementwise ops of a kernel to make what its other ops read, or its result, from inputs of the kernel}}
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<64x32xbf16>) outs(%e : tensor<64x32xbf16>) {
    ^bb0(%p: bf16, %o: bf16):
      linalg.yield %p : bf16
    } -> tensor<64x32xbf16>
    %0, %1 = blockscale.quantize %2 block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  }
  return
}

// -----

func.func @not_evaluable(%x: memref<64x32xf32>, %q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x32xf32>) outs(%q, %s : memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x32xf32>, %lq: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>):
    %e = tensor.empty() : tensor<64x32xf32>
    // expected-error @below {{'linalg.generic' op does not share its kernel (producer_c4): expected arithmetic on f32 and integers}}
    %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%lx : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
    ^bb0(%p: f32, %o: f32):
      %5 = math.cos %p : f32
      linalg.yield %5 : f32
    } -> tensor<64x32xf32>
    %0, %1 = blockscale.quantize %2 block [1, 32] : tensor<64x32xf32> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  }
  return
}

// -----

func.func @of_nothing(%q: memref<64x32xf8E4M3FN>, %s: memref<64x1xf8E8M0FNU>) {
  blockscale.kernel outs(%q, %s : memref<64x32xf8E4M3FN>, memref<64x1xf8E8M0FNU>) {
  ^bb0(%lq: tensor<64x32xf8E4M3FN>, %ls: tensor<64x1xf8E8M0FNU>):
    %e = tensor.empty() : tensor<64x32xbf16>
    // expected-error @below {{expected operands that are inputs of the kernel, or of other ops that compute, on this target, but got one of 'tensor.empty'}}
    %0, %1 = blockscale.quantize %e block [1, 32] : tensor<64x32xbf16> -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  }
  return
}

// -----

// Products read row-major data.
#prepacked = #blockscale.data_layout<fragments_64x64>
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @prepacked(%x: memref<8x64xbf16>, %w: memref<1x1x4096xi8>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %y: memref<8x16xbf16>) {
  blockscale.kernel ins(%x, %w, %s : memref<8x64xbf16>, memref<1x1x4096xi8>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%y : memref<8x16xbf16>) family product {
  ^bb0(%lx: tensor<8x64xbf16>, %lw: tensor<16x64xf8E4M3FN, #prepacked>, %ls: tensor<16x2xf8E8M0FNU, #swizzled>, %ly: tensor<8x16xbf16>):
    // expected-error @below {{expected row-major data (blockscale-unpack-product-data makes it), but got 'tensor<16x64xf8E4M3FN, #blockscale.data_layout<fragments_64x64>>'}}
    %0 = blockscale.scaled_mm %lx, %lw scales(none, %ls) block [1, 32]
        : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN, #prepacked>, tensor<16x2xf8E8M0FNU, #swizzled> -> tensor<8x16xbf16>
    blockscale.yield %0 : tensor<8x16xbf16>
  }
  return
}

// -----

// A change of layout that changes none is no kernel.
func.func @same_layout(%w: memref<16x64xf8E4M3FN>, %v: memref<16x64xf8E4M3FN>) {
  blockscale.kernel ins(%w : memref<16x64xf8E4M3FN>) outs(%v : memref<16x64xf8E4M3FN>) {
  ^bb0(%lw: tensor<16x64xf8E4M3FN>, %lv: tensor<16x64xf8E4M3FN>):
    // expected-error @below {{expected another layout than that of the source (canonicalization drops the op), but got 'tensor<16x64xf8E4M3FN>'}}
    %0 = blockscale.prepack %lw : tensor<16x64xf8E4M3FN> -> tensor<16x64xf8E4M3FN>
    blockscale.yield %0 : tensor<16x64xf8E4M3FN>
  }
  return
}

// -----

// blockscale-relayout-scales was not run.
func.func @other_tiles(%x: memref<4x64xbf16>, %q: memref<4x32xi8>, %s: memref<1x1x8x4xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x64xbf16>) outs(%q, %s : memref<4x32xi8>, memref<1x1x8x4xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x64xbf16>, %lq: tensor<4x64xf4E2M1FN>, %ls: tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>):
    // expected-error @below {{expected scales that are linear or in the layout swizzle_128x4 (blockscale-relayout-scales makes them), but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>'}}
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x64xbf16> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
    blockscale.yield %0, %1 : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  }
  return
}

// -----

func.func @between_tiles(%s: memref<1x1x32x4x4xf8E4M3FN>, %t: memref<1x1x8x4xf8E4M3FN>) {
  blockscale.kernel ins(%s : memref<1x1x32x4x4xf8E4M3FN>) outs(%t : memref<1x1x8x4xf8E4M3FN>) {
  ^bb0(%ls: tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>, %lt: tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>):
    // expected-error @below {{expected linear scales on one side (blockscale-relayout-scales makes them), but got 'tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
    %0 = blockscale.swizzle %ls : tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_128x4>> -> tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
    blockscale.yield %0 : tensor<4x4xf8E4M3FN, #blockscale.layout<swizzle_8x4>>
  }
  return
}

// -----

// A quantizer without elements would not run, so that nothing computed its global scale.
func.func @chain_without_elements(%a: memref<f32>, %x: memref<4x0xbf16>, %g: memref<f32>, %q: memref<4x0xi8>, %s: memref<4x0xf8E4M3FN>) {
  blockscale.kernel ins(%a, %x : memref<f32>, memref<4x0xbf16>) outs(%g, %q, %s : memref<f32>, memref<4x0xi8>, memref<4x0xf8E4M3FN>) {
  ^bb0(%la: tensor<f32>, %lx: tensor<4x0xbf16>, %lg: tensor<f32>, %lq: tensor<4x0xf4E2M1FN>, %ls: tensor<4x0xf8E4M3FN>):
    %0 = blockscale.global_scale %la : tensor<f32>
    // expected-error @below {{'blockscale.quantize' op expected elements where the kernel computes its global operand, but got 'tensor<4x0xbf16>'}}
    %1, %2 = blockscale.quantize %lx block [1, 16] global_scale(%0 : tensor<f32>) : tensor<4x0xbf16> -> tensor<4x0xf4E2M1FN>, tensor<4x0xf8E4M3FN>
    blockscale.yield %0, %1, %2 : tensor<f32>, tensor<4x0xf4E2M1FN>, tensor<4x0xf8E4M3FN>
  }
  return
}

// -----

// The same where threads have fragments.
func.func @strips_without_elements(%a: memref<f32>, %x: memref<64x0xbf16>, %g: memref<f32>, %q: memref<0x32xi8>, %s: memref<0x4xf8E4M3FN>) {
  blockscale.kernel ins(%a, %x : memref<f32>, memref<64x0xbf16>) outs(%g, %q, %s : memref<f32>, memref<0x32xi8>, memref<0x4xf8E4M3FN>) family strips {
  ^bb0(%la: tensor<f32>, %lx: tensor<64x0xbf16>, %lg: tensor<f32>, %lq: tensor<0x64xf4E2M1FN>, %ls: tensor<0x4xf8E4M3FN>):
    %0 = blockscale.global_scale %la : tensor<f32>
    // expected-error @below {{'blockscale.quantize' op expected elements where the kernel computes its global operand, but got 'tensor<64x0xbf16>'}}
    %1, %2 = blockscale.quantize %lx block [16, 1] transposed recipe te global_amax(%la : tensor<f32>) : tensor<64x0xbf16> -> tensor<0x64xf4E2M1FN>, tensor<0x4xf8E4M3FN>
    blockscale.yield %0, %1, %2 : tensor<f32>, tensor<0x64xf4E2M1FN>, tensor<0x4xf8E4M3FN>
  }
  return
}

// -----

// Several amaxes in parts have a part of each CTA, which x without elements does not have.
func.func @parts_without_elements(%x: memref<64x0xbf16>, %p: memref<1x1024xf32>, %q: memref<1x1024xf32>) {
  blockscale.kernel ins(%x : memref<64x0xbf16>) outs(%p, %q : memref<1x1024xf32>, memref<1x1024xf32>) family strips {
  ^bb0(%lx: tensor<64x0xbf16>, %lp: tensor<1x1024xf32>, %lq: tensor<1x1024xf32>):
    %0 = blockscale.hadamard %lx dim 0 : tensor<64x0xbf16>
    // expected-error @below {{'blockscale.amax_parts' op expected elements where several amaxes are taken in parts, but got 'tensor<64x0xbf16>'}}
    %1 = blockscale.amax_parts %lx : tensor<64x0xbf16> -> tensor<1x1024xf32>
    %2 = blockscale.amax_parts %0 : tensor<64x0xbf16> -> tensor<1x1024xf32>
    blockscale.yield %1, %2 : tensor<1x1024xf32>, tensor<1x1024xf32>
  }
  return
}

// -----

// Amaxes in parts of two tensors would not have a part of each CTA.
func.func @parts_beside(%x: memref<64x32xbf16>, %y: memref<32x32xbf16>, %p: memref<1x1024xf32>, %q: memref<1x1024xf32>) {
  blockscale.kernel ins(%x, %y : memref<64x32xbf16>, memref<32x32xbf16>) outs(%p, %q : memref<1x1024xf32>, memref<1x1024xf32>) family strips {
  ^bb0(%lx: tensor<64x32xbf16>, %ly: tensor<32x32xbf16>, %lp: tensor<1x1024xf32>, %lq: tensor<1x1024xf32>):
    // expected-error @below {{'blockscale.amax_parts' op does not share its kernel (beside_c2): expected ops of which CTAs have no part of their own, but got 'blockscale.amax_parts'}}
    %0 = blockscale.amax_parts %lx : tensor<64x32xbf16> -> tensor<1x1024xf32>
    %1 = blockscale.amax_parts %ly : tensor<32x32xbf16> -> tensor<1x1024xf32>
    blockscale.yield %0, %1 : tensor<1x1024xf32>, tensor<1x1024xf32>
  }
  return
}
