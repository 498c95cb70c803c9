// RUN: blockscale-opt %s -transform-interpreter -split-input-file -verify-diagnostics

// A tile of swizzled scales is no slice of them.
#swizzled = #blockscale.layout<swizzle_128x4>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["blockscale.quantize"]} in %module : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.tile_using_for %op tile_sizes [32, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @swizzled(%x: tensor<64x128xbf16>) -> tensor<64x4xf8E8M0FNU, #swizzled> {
    // expected-error @below {{'blockscale.quantize' op expected linear scales to tile, which blockscale.swizzle makes, but got 'tensor<64x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>'}}
    // expected-error @below {{ to tile operation}}
    // expected-error @below {{failed to generate tiling loops}}
    %q, %s = blockscale.quantize %x block [1, 32] : tensor<64x128xbf16> -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #swizzled>
    return %s : tensor<64x4xf8E8M0FNU, #swizzled>
  }
}

// -----

// Nor for dequantize.
#swizzled = #blockscale.layout<swizzle_128x4>
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["blockscale.dequantize"]} in %module : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.tile_using_for %op tile_sizes [32, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @swizzled_operand(%q: tensor<64x128xf8E4M3FN>, %s: tensor<64x4xf8E8M0FNU, #swizzled>) -> tensor<64x128xf32> {
    // expected-error @below {{'blockscale.dequantize' op expected linear scales to tile, which blockscale.swizzle makes, but got 'tensor<64x4xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>'}}
    // expected-error @below {{ to tile operation}}
    // expected-error @below {{failed to generate tiling loops}}
    %0 = blockscale.dequantize %q, %s block [1, 32] : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU, #swizzled> -> tensor<64x128xf32>
    return %0 : tensor<64x128xf32>
  }
}

// -----

// The random bits of an element depend on its place in x.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["blockscale.quantize"]} in %module : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.tile_using_for %op tile_sizes [32, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @random(%x: tensor<64x128xbf16>, %r: tensor<2xi64>) -> tensor<64x128xf4E2M1FN> {
    // expected-error @below {{'blockscale.quantize' op expected neither rng nor offsets to tile, which depend on the place in x, but got rng}}
    // expected-error @below {{ to tile operation}}
    // expected-error @below {{failed to generate tiling loops}}
    %q, %s = blockscale.quantize %x block [1, 16] rng(%r : tensor<2xi64>) : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
    return %q : tensor<64x128xf4E2M1FN>
  }
}

// -----

// So does the group of a row.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["blockscale.quantize"]} in %module : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.tile_using_for %op tile_sizes [32, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @groups(%x: tensor<64x128xbf16>, %ends: tensor<2xi32>) -> tensor<64x128xf4E2M1FN> {
    // expected-error @below {{expected neither rng nor offsets to tile, which depend on the place in x, but got offsets}}
    // expected-error @below {{ to tile operation}}
    // expected-error @below {{failed to generate tiling loops}}
    %q, %s = blockscale.quantize %x block [1, 16] offsets(%ends : tensor<2xi32>) : tensor<64x128xbf16> -> tensor<64x128xf4E2M1FN>, tensor<64x8xf8E4M3FN>
    return %q : tensor<64x128xf4E2M1FN>
  }
}

// -----

// Tiles that cut blocks: their columns,
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["blockscale.quantize"]} in %module : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.tile_using_for %op tile_sizes [32, 24]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @columns(%x: tensor<64x96xbf16>) -> tensor<64x96xf4E2M1FN> {
    // expected-error @below {{'blockscale.quantize' op expected tiles of whole blocks, a multiple of 16 along dimension 1, but got size 24}}
    // expected-error @below {{ to tile operation}}
    // expected-error @below {{failed to generate tiling loops}}
    %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x96xbf16> -> tensor<64x96xf4E2M1FN>, tensor<64x6xf8E4M3FN>
    return %q : tensor<64x96xf4E2M1FN>
  }
}

// -----

// their rows,
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["blockscale.quantize"]} in %module : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.tile_using_for %op tile_sizes [48, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @rows(%x: tensor<96x96xbf16>) -> tensor<96x96xf8E4M3FN> {
    // expected-error @below {{expected tiles of whole blocks, a multiple of 32 along dimension 0, but got size 48}}
    // expected-error @below {{ to tile operation}}
    // expected-error @below {{failed to generate tiling loops}}
    %q, %s = blockscale.quantize %x block [32, 32] : tensor<96x96xbf16> -> tensor<96x96xf8E4M3FN>, tensor<3x3xf8E8M0FNU>
    return %q : tensor<96x96xf8E4M3FN>
  }
}

// -----

// and the groups of hadamard.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["blockscale.hadamard"]} in %module : (!transform.any_op) -> !transform.any_op
    %0, %1:2 = transform.structured.tile_using_for %op tile_sizes [8, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @hadamard(%x: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    // expected-error @below {{'blockscale.hadamard' op expected tiles of whole blocks, a multiple of 16 along dimension 0, but got size 8}}
    // expected-error @below {{ to tile operation}}
    // expected-error @below {{failed to generate tiling loops}}
    %0 = blockscale.hadamard %x dim 0 : tensor<64x64xbf16>
    return %0 : tensor<64x64xbf16>
  }
}

// -----

// A size that nobody knows to be whole.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["blockscale.quantize"]} in %module : (!transform.any_op) -> !transform.any_op
    %size = transform.structured.match ops{["arith.muli"]} in %module : (!transform.any_op) -> !transform.any_op
    %0, %1 = transform.structured.tile_using_for %op tile_sizes [0, %size]
        : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  func.func @unknown(%x: tensor<64x96xbf16>, %n: index) -> tensor<64x96xf4E2M1FN> {
    %size = arith.muli %n, %n : index
    // expected-error @below {{'blockscale.quantize' op expected tiles of whole blocks, a multiple of 16 along dimension 1, but got a size not known to be one}}
    // expected-error @below {{ to tile operation}}
    // expected-error @below {{failed to generate tiling loops}}
    %q, %s = blockscale.quantize %x block [1, 16] : tensor<64x96xbf16> -> tensor<64x96xf4E2M1FN>, tensor<64x6xf8E4M3FN>
    return %q : tensor<64x96xf4E2M1FN>
  }
}
