// RUN: blockscale-opt %s --blockscale-print-roofline=dynamic-sizes=64 --split-input-file -verify-diagnostics

// Sizes and turns of loops that nothing says, and what a GPU does not have.

// A size that comes from somewhere else than the arguments' sizes.
func.func @loaded(%x: tensor<128x128xbf16>, %n: index) {
  %0 = tensor.extract_slice %x[0, 0] [%n, 128] [1, 1] : tensor<128x128xbf16> to tensor<?x128xbf16>
  // expected-error @below {{has no cost: expected dynamic sizes that follow from a function's arguments, but got a 'tensor<?x128xbf16>' that does not say}}
  %a = blockscale.amax %0 : tensor<?x128xbf16> -> tensor<f32>
  return
}

// -----

// A size that loops change.
func.func @carried(%x: tensor<?x128xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = scf.for %i = %c0 to %c2 step %c1 iter_args(%y = %x) -> tensor<?x128xbf16> {
    // expected-error @below {{but got a 'tensor<?x128xbf16>' that does not say}}
    %a = blockscale.amax %y : tensor<?x128xbf16> -> tensor<f32>
    scf.yield %y : tensor<?x128xbf16>
  }
  return
}

// -----

// Code that is never reached may be its own operand.
func.func @circle() {
  return
^bb1:
  // expected-error @below {{but got a 'tensor<?x128xbf16>' that does not say}}
  %y = blockscale.hadamard %y dim 1 : tensor<?x128xbf16>
  cf.br ^bb1
}

// -----

func.func @turns(%x: tensor<64x128xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{has no cost: expected loops with constant trip counts around it, but got a 'scf.for' without one}}
    %a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
  }
  return
}

// -----

// Packed operands on memory do not say their logical sizes.
func.func @memory(%q: memref<?x64xi8>, %s: memref<?x8xf8E4M3FN>, %a: memref<f32>) {
  // expected-error @below {{but got a 'tensor<?x128xf4E2M1FN>' that does not say}}
  blockscale.kernel ins(%q, %s : memref<?x64xi8>, memref<?x8xf8E4M3FN>) outs(%a : memref<f32>) {
  ^bb0(%lq: tensor<?x128xf4E2M1FN>, %ls: tensor<?x8xf8E4M3FN>, %la: tensor<f32>):
    %x = blockscale.dequantize %lq, %ls block [1, 16]
        : tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN> -> tensor<?x128xbf16>
    %0 = blockscale.amax %x : tensor<?x128xbf16> -> tensor<f32>
    blockscale.yield %0 : tensor<f32>
  }
  return
}

// -----

// A graph outside functions does not run.
%x = arith.constant dense<1.0> : tensor<64x128xbf16>
// expected-error @below {{has no cost: expected it to be in a function}}
%a = blockscale.amax %x : tensor<64x128xbf16> -> tensor<f32>
