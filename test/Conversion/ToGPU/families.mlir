// The family of a kernel says which code it becomes.
// RUN: blockscale-opt %s --blockscale-choose-strips=chip=sm_90a --blockscale-lower-kernels-to-gpu=chip=sm_90a --split-input-file --verify-diagnostics | FileCheck %s

// Without one, blocks of one row become a kernel of rows, ...
// CHECK-LABEL: gpu.module
// CHECK: gpu.func @quantize_e4m3_
// CHECK-LABEL: func.func @not_said
func.func @not_said(%x: memref<64x128xbf16>, %q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  }
  return
}

// -----

// ... as they do with that, ...
// CHECK-LABEL: gpu.module
// CHECK: gpu.func @quantize_e4m3_
// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<64x128xbf16>, %q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) family rows {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  }
  return
}

// -----

// ... but one of strips where it asks for that.
// CHECK-LABEL: gpu.module
// CHECK: gpu.func @quantize_1x32_e4m3_
// CHECK-LABEL: func.func @strips
func.func @strips(%x: memref<64x128xbf16>, %q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x128xbf16>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) family strips {
  ^bb0(%lx: tensor<64x128xbf16>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  }
  return
}

// -----

// A family that cannot compute the op: strips are of bf16, ...
func.func @strips_of_f32(%x: memref<64x128xf32>, %q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x128xf32>) outs(%q, %s : memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU>) family strips {
  ^bb0(%lx: tensor<64x128xf32>, %lq: tensor<64x128xf8E4M3FN>, %ls: tensor<64x4xf8E8M0FNU>):
    // expected-error @below {{does not share its kernel (one_read_c1): expected x of bf16, but got tensor<64x128xf32>}}
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x128xf32> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  }
  return
}

// -----

// ... and rows have a static length where scales are in tiles.
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @dynamic_rows(%x: memref<64x?xbf16>, %q: memref<64x?xf8E4M3FN>, %s: memref<1x?x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<64x?xbf16>) outs(%q, %s : memref<64x?xf8E4M3FN>, memref<1x?x32x4x4xf8E8M0FNU>) family rows {
  ^bb0(%lx: tensor<64x?xbf16>, %lq: tensor<64x?xf8E4M3FN>, %ls: tensor<64x?xf8E8M0FNU, #swizzled>):
    // expected-error @below {{expected a static last dimension on sm_90a with scales in tiles, but got 'tensor<64x?xbf16>'}}
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<64x?xbf16> -> tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU, #swizzled>
  }
  return
}

// -----

// A transform that nothing reads makes no member.
func.func @unread(%x: memref<64x128xbf16>, %y: memref<64x128xbf16>, %a: memref<f32>) {
  blockscale.kernel ins(%x, %y : memref<64x128xbf16>, memref<64x128xbf16>) outs(%a : memref<f32>) family strips {
  ^bb0(%lx: tensor<64x128xbf16>, %ly: tensor<64x128xbf16>, %la: tensor<f32>):
    // expected-error @below {{expected a transform whose result is quantized, or reduced to an amax, in its kernel, but got one that nothing reads}}
    %h = blockscale.hadamard %lx dim 0 : tensor<64x128xbf16>
    %0 = blockscale.amax %ly : tensor<64x128xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// -----

// A body that computes nothing.
func.func @empty(%a: memref<f32>) {
  // expected-error @below {{expected a body with an op, but it computes nothing}}
  blockscale.kernel outs(%a : memref<f32>) {
  ^bb0(%la: tensor<f32>):
    %0 = arith.constant dense<1.0> : tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}
