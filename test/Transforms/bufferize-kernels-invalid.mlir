// RUN: blockscale-opt %s -blockscale-bufferize -split-input-file -verify-diagnostics

// Upstream would drop the encoding, and with it the padding.
#swizzled = #blockscale.layout<swizzle_128x4>
// expected-error @below {{'func.func' op expected storage types before bufferization (blockscale-materialize-storage), but got 'tensor<200x5xf8E4M3FN, #blockscale.layout<swizzle_128x4>>'}}
func.func @encoded(%s: tensor<200x5xf8E4M3FN, #swizzled>) -> tensor<200x5xf8E4M3FN, #swizzled> {
  return %s : tensor<200x5xf8E4M3FN, #swizzled>
}

// -----

func.func @packed() {
  // expected-error @below {{'tensor.empty' op expected storage types before bufferization (blockscale-materialize-storage), but got 'tensor<4x16xf4E2M1FN>'}}
  %0 = tensor.empty() : tensor<4x16xf4E2M1FN>
  return
}

// -----

// expected-error @below {{'func.func' op expected tensors in structured control flow (scf), but got a branch with 'tensor<4xi8>'}}
func.func @branch(%x: tensor<4xi8>, %c: i1) -> tensor<4xi8> {
  cf.br ^bb1(%x : tensor<4xi8>)
^bb1(%y: tensor<4xi8>):
  cf.cond_br %c, ^bb1(%y : tensor<4xi8>), ^bb2
^bb2:
  return %y : tensor<4xi8>
}
