// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --split-input-file --verify-diagnostics

// Padded groups of a tensor have the ends of their own padding, ...
func.func @two_tensors(%x: memref<96x32xbf16>, %y: memref<96x32xbf16>, %o: memref<3xi32>, %e: memref<3xi32>, %q: memref<160x32xf8E4M3FN>, %s: memref<5x32xf8E8M0FNU>, %p: memref<160x32xf8E4M3FN>, %t: memref<5x32xf8E8M0FNU>, %f: memref<3xi32>) {
  blockscale.kernel ins(%x, %y, %o : memref<96x32xbf16>, memref<96x32xbf16>, memref<3xi32>) outs(%e, %q, %s, %p, %t, %f : memref<3xi32>, memref<160x32xf8E4M3FN>, memref<5x32xf8E8M0FNU>, memref<160x32xf8E4M3FN>, memref<5x32xf8E8M0FNU>, memref<3xi32>) {
  ^bb0(%lx: tensor<96x32xbf16>, %ly: tensor<96x32xbf16>, %lo: tensor<3xi32>, %le: tensor<3xi32>, %lq: tensor<160x32xf8E4M3FN>, %ls: tensor<5x32xf8E8M0FNU>, %lp: tensor<160x32xf8E4M3FN>, %lt: tensor<5x32xf8E8M0FNU>, %lf: tensor<3xi32>):
    %a, %ae = blockscale.pad_groups %lx offsets(%lo : tensor<3xi32>) unit 32 : tensor<96x32xbf16> -> tensor<160x32xbf16>
    %0, %1 = blockscale.quantize %a block [32, 1] : tensor<160x32xbf16> -> tensor<160x32xf8E4M3FN>, tensor<5x32xf8E8M0FNU>
    %b, %be = blockscale.pad_groups %ly offsets(%lo : tensor<3xi32>) unit 32 : tensor<96x32xbf16> -> tensor<160x32xbf16>
    // expected-error @below {{'blockscale.quantize' op expected ends of groups that are an input of the kernel, or those of the groups that it pads for x, but got those of others}}
    %2, %3 = blockscale.quantize %b block [32, 1] offsets(%ae : tensor<3xi32>) : tensor<160x32xbf16> -> tensor<160x32xf8E4M3FN>, tensor<5x32xf8E8M0FNU>
    blockscale.yield %ae, %0, %1, %2, %3, %be : tensor<3xi32>, tensor<160x32xf8E4M3FN>, tensor<5x32xf8E8M0FNU>, tensor<160x32xf8E4M3FN>, tensor<5x32xf8E8M0FNU>, tensor<3xi32>
  }
  return
}

// -----

// ... in units of the rows that threads have, ...
func.func @odd_unit(%x: memref<96x32xbf16>, %o: memref<3xi32>, %q: memref<32x72xi8>, %s: memref<32x9xf8E4M3FN>) {
  blockscale.kernel ins(%x, %o : memref<96x32xbf16>, memref<3xi32>) outs(%q, %s : memref<32x72xi8>, memref<32x9xf8E4M3FN>) {
  ^bb0(%lx: tensor<96x32xbf16>, %lo: tensor<3xi32>, %lq: tensor<32x144xf4E2M1FN>, %ls: tensor<32x9xf8E4M3FN>):
    // expected-error @below {{'blockscale.pad_groups' op does not share its kernel (pad_c3): expected a unit that is a multiple of 16, but got 24}}
    %p, %e = blockscale.pad_groups %lx offsets(%lo : tensor<3xi32>) unit 24 : tensor<96x32xbf16> -> tensor<144x32xbf16>
    %0, %1 = blockscale.quantize %p block [16, 1] transposed : tensor<144x32xbf16> -> tensor<32x144xf4E2M1FN>, tensor<32x9xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<32x144xf4E2M1FN>, tensor<32x9xf8E4M3FN>
  }
  return
}

// -----

// ... and memory does not hold the padded rows, too.
func.func @stored(%x: memref<96x32xbf16>, %o: memref<3xi32>, %p: memref<160x32xbf16>, %q: memref<160x32xf8E4M3FN>, %s: memref<5x32xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %o : memref<96x32xbf16>, memref<3xi32>) outs(%p, %q, %s : memref<160x32xbf16>, memref<160x32xf8E4M3FN>, memref<5x32xf8E8M0FNU>) {
  ^bb0(%lx: tensor<96x32xbf16>, %lo: tensor<3xi32>, %lp: tensor<160x32xbf16>, %lq: tensor<160x32xf8E4M3FN>, %ls: tensor<5x32xf8E8M0FNU>):
    // expected-error @below {{'blockscale.pad_groups' op does not share its kernel (pad_c2): expected all uses to be quantizations of its block that can share a kernel, but got 'blockscale.yield'}}
    %a, %e = blockscale.pad_groups %lx offsets(%lo : tensor<3xi32>) unit 32 : tensor<96x32xbf16> -> tensor<160x32xbf16>
    %0, %1 = blockscale.quantize %a block [32, 1] : tensor<160x32xbf16> -> tensor<160x32xf8E4M3FN>, tensor<5x32xf8E8M0FNU>
    blockscale.yield %a, %0, %1 : tensor<160x32xbf16>, tensor<160x32xf8E4M3FN>, tensor<5x32xf8E8M0FNU>
  }
  return
}
