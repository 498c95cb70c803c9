// RUN: blockscale-opt %s --blockscale-to-cpu=to=verify-layout | FileCheck %s --check-prefixes=CHECK,LAYOUT
// RUN: blockscale-opt %s --blockscale-to-cpu=to=canonicalize | FileCheck %s --check-prefixes=CHECK,CANONICAL
// RUN: blockscale-opt %s --blockscale-to-cpu=to=form-kernels | FileCheck %s --check-prefixes=CHECK,KERNELS
// RUN: blockscale-opt %s --blockscale-to-cpu=to=materialize-storage | FileCheck %s --check-prefixes=CHECK,STORAGE
// RUN: blockscale-opt %s --blockscale-to-cpu=to=bufferize | FileCheck %s --check-prefixes=CHECK,BUFFERS
// RUN: blockscale-opt %s --blockscale-to-cpu=to=lower-kernels | FileCheck %s --check-prefixes=CHECK,LOOPS
// RUN: blockscale-opt %s --blockscale-to-cpu=to=llvm | FileCheck %s --check-prefixes=CHECK,LLVM
// RUN: blockscale-opt %s --blockscale-to-cpu | FileCheck %s --check-prefixes=CHECK,LLVM
// RUN: blockscale-opt %s --pass-pipeline="builtin.module(blockscale-to-cpu{from=form-kernels to=form-kernels})" | FileCheck %s --check-prefixes=CHECK,ONE

// The stages of the CPU pipeline, by name: what stands after each.

// CHECK: @quantize

// A unit global scale is there until canonicalization; `from` leaves it.
// LAYOUT:        global_scale
// CANONICAL-NOT: global_scale
// ONE:           blockscale.kernel
// ONE:           global_scale

// KERNELS:       blockscale.kernel ins(%{{.+}} : tensor<4x64xf32>) outs(%{{.+}}, %{{.+}} : tensor<4x64xf4E2M1FN>,
// STORAGE:       blockscale.kernel ins(%{{.+}} : tensor<4x64xf32>) outs(%{{.+}}, %{{.+}} : tensor<4x32xi8>,
// BUFFERS:       blockscale.kernel ins(%{{.+}} : memref<4x64xf32>) outs(%{{.+}}, %{{.+}} : memref<4x32xi8>,
// LOOPS-NOT:     blockscale.kernel
// LOOPS:         vector.load
// LLVM-NOT:      builtin.unrealized_conversion_cast
// LLVM:          llvm.func @_mlir_ciface_quantize
// LLVM-NOT:      builtin.unrealized_conversion_cast
func.func @quantize(%x: tensor<4x64xf32>) -> (tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>) {
  %one = arith.constant 1.0 : f32
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%one : f32)
      : tensor<4x64xf32> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %q, %s : tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
}
