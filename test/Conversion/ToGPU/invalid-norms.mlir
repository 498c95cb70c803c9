// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu -split-input-file -verify-diagnostics

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Two quantizations of a norm, which is not bf16 (one_read_c1).
func.func @two(%x: memref<64x96xf32>, %s: memref<64xf32>, %q: memref<64x96xf8E4M3FN>, %t: memref<64x3xf8E8M0FNU>, %p: memref<64x96xf8E4M3FN>, %u: memref<64x3xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x96xf32>) outs(%s, %q, %t, %p, %u : memref<64xf32>, memref<64x96xf8E4M3FN>, memref<64x3xf8E8M0FNU>, memref<64x96xf8E4M3FN>, memref<64x3xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x96xf32>, %ls: tensor<64xf32>, %lq: tensor<64x96xf8E4M3FN>, %lt: tensor<64x3xf8E8M0FNU>, %lp: tensor<64x96xf8E4M3FN>, %lu: tensor<64x3xf8E8M0FNU>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    %d = tensor.empty() : tensor<64x96xf32>
    %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%lx, %sum : tensor<64x96xf32>, tensor<64xf32>) outs(%d : tensor<64x96xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.divf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<64x96xf32>
    // expected-error @below {{'blockscale.quantize' op does not share its kernel (one_read_c1): expected x of bf16, but got tensor<64x96xf32>}}
    %0, %1 = blockscale.quantize %y block [1, 32] : tensor<64x96xf32> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
    %2, %3 = blockscale.quantize %y block [1, 32] recipe ceil : tensor<64x96xf32> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
    blockscale.yield %sum, %0, %1, %2, %3 : tensor<64xf32>, tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>, tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Another op of the dialect.
func.func @other(%x: memref<64x96xf32>, %s: memref<64xf32>, %amax: memref<f32>) {
  blockscale.kernel ins(%x : memref<64x96xf32>) outs(%s, %amax : memref<64xf32>, memref<f32>) {
  ^bb0(%lx: tensor<64x96xf32>, %ls: tensor<64xf32>, %la: tensor<f32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    // expected-error @below {{'blockscale.amax' op expected a kernel that reduces rows to consist of linalg ops and a quantization on this target}}
    %0 = blockscale.amax %lx : tensor<64x96xf32> -> tensor<f32>
    blockscale.yield %sum, %0 : tensor<64xf32>, tensor<f32>
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A clause that formation asks for (norm_c5).
func.func @clause(%x: memref<64x96xf32>, %d: memref<64x96xf32>, %s: memref<64xf32>) {
  blockscale.kernel ins(%x : memref<64x96xf32>) outs(%d, %s : memref<64x96xf32>, memref<64xf32>) {
  ^bb0(%lx: tensor<64x96xf32>, %ld: tensor<64x96xf32>, %ls: tensor<64xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    // expected-error-re @below {{'linalg.generic' op has no kernel (norm_c5){{.+}}}}
    %y = linalg.generic {indexing_maps = [#row, #element], iterator_types = ["parallel", "parallel"]} ins(%sum : tensor<64xf32>) outs(%ld : tensor<64x96xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.erf %a : f32
      linalg.yield %0 : f32
    } -> tensor<64x96xf32>
    blockscale.yield %y, %sum : tensor<64x96xf32>, tensor<64xf32>
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Groups that are padded (norm_c1).
func.func @groups(%x: memref<64x96xf32>, %ends: memref<2xi32>, %q: memref<96x96xf8E4M3FN>, %t: memref<3x96xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %ends : memref<64x96xf32>, memref<2xi32>) outs(%q, %t : memref<96x96xf8E4M3FN>, memref<3x96xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x96xf32>, %le: tensor<2xi32>, %lq: tensor<96x96xf8E4M3FN>, %lt: tensor<3x96xf8E8M0FNU>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    %d = tensor.empty() : tensor<64x96xf32>
    %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%lx, %sum : tensor<64x96xf32>, tensor<64xf32>) outs(%d : tensor<64x96xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.divf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<64x96xf32>
    // expected-error @below {{'blockscale.pad_groups' op expected a kernel that reduces rows to consist of linalg ops and a quantization on this target}}
    %p, %pe = blockscale.pad_groups %y offsets(%le : tensor<2xi32>) unit 32 : tensor<64x96xf32> -> tensor<96x96xf32>
    %0, %1 = blockscale.quantize %p block [32, 1] offsets(%pe : tensor<2xi32>) : tensor<96x96xf32> -> tensor<96x96xf8E4M3FN>, tensor<3x96xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<96x96xf8E4M3FN>, tensor<3x96xf8E8M0FNU>
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A result that nothing computes.
func.func @input(%x: memref<64x96xf32>, %s: memref<64xf32>, %other: memref<64xf32>) {
  // expected-error @below {{'blockscale.kernel' op expected the body to yield what its linalg ops and quantization compute}}
  blockscale.kernel ins(%x : memref<64x96xf32>) outs(%s, %other : memref<64xf32>, memref<64xf32>) {
  ^bb0(%lx: tensor<64x96xf32>, %ls: tensor<64xf32>, %lr: tensor<64xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    blockscale.yield %sum, %lr : tensor<64xf32>, tensor<64xf32>
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A result twice.
func.func @twice(%x: memref<64x96xf32>, %s: memref<64xf32>, %other: memref<64xf32>) {
  // expected-error @below {{'blockscale.kernel' op expected the body to yield each result of its ops once on this target}}
  blockscale.kernel ins(%x : memref<64x96xf32>) outs(%s, %other : memref<64xf32>, memref<64xf32>) {
  ^bb0(%lx: tensor<64x96xf32>, %ls: tensor<64xf32>, %lr: tensor<64xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    blockscale.yield %sum, %sum : tensor<64xf32>, tensor<64xf32>
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// The quantization's type has a dynamic length of rows, though the norm's rows have a static one.
func.func @length(%x: memref<64x96xf32>, %s: memref<64xf32>, %n: index, %q: memref<64x?xf8E4M3FN>, %t: memref<64x?xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %n : memref<64x96xf32>, index) outs(%s, %q, %t : memref<64xf32>, memref<64x?xf8E4M3FN>, memref<64x?xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x96xf32>, %ln: index, %ls: tensor<64xf32>, %lq: tensor<64x?xf8E4M3FN>, %lt: tensor<64x?xf8E8M0FNU>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    %d = tensor.empty(%ln) : tensor<64x?xf32>
    %y = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%lx, %sum : tensor<64x96xf32>, tensor<64xf32>) outs(%d : tensor<64x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.divf %a, %b : f32
      linalg.yield %0 : f32
    } -> tensor<64x?xf32>
    // expected-error @below {{'blockscale.quantize' op expected a static last dimension where x is computed from whole rows, but got 'tensor<64x?xf32>'}}
    %0, %1 = blockscale.quantize %y block [1, 32] : tensor<64x?xf32> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
    blockscale.yield %sum, %0, %1 : tensor<64xf32>, tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Parts of the amax of what the kernel reads.
func.func @parts_of_input(%x: memref<64x96xf32>, %s: memref<64xf32>, %p: memref<1x512xf32>) {
  blockscale.kernel ins(%x : memref<64x96xf32>) outs(%s, %p : memref<64xf32>, memref<1x512xf32>) {
  ^bb0(%lx: tensor<64x96xf32>, %ls: tensor<64xf32>, %lp: tensor<1x512xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    // expected-error @below {{'blockscale.amax_parts' op expected x to be elements that linalg ops of the kernel compute on this target}}
    %0 = blockscale.amax_parts %lx : tensor<64x96xf32> -> tensor<1x512xf32>
    blockscale.yield %sum, %0 : tensor<64xf32>, tensor<1x512xf32>
  }
  return
}

// -----

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Strips of what the kernel reads.
func.func @strips_of_input(%x: memref<64x96xf32>, %s: memref<64xf32>, %q: memref<64x96xf8E4M3FN>, %t: memref<2x96xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x96xf32>) outs(%s, %q, %t : memref<64xf32>, memref<64x96xf8E4M3FN>, memref<2x96xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x96xf32>, %ls: tensor<64xf32>, %lq: tensor<64x96xf8E4M3FN>, %lt: tensor<2x96xf8E8M0FNU>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x96xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<64xf32>
    // expected-error @below {{'blockscale.quantize' op expected x to be the elements that linalg ops of the kernel compute, the same for all quantizations, on this target}}
    %0, %1 = blockscale.quantize %lx block [32, 1] : tensor<64x96xf32> -> tensor<64x96xf8E4M3FN>, tensor<2x96xf8E8M0FNU>
    blockscale.yield %sum, %0, %1 : tensor<64xf32>, tensor<64x96xf8E4M3FN>, tensor<2x96xf8E8M0FNU>
  }
  return
}
