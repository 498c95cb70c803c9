// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -verify-diagnostics

// The name is that of the host's function.
// expected-error @below {{'func.func' op expected the name blockscale_reduce_over_ranks to be the runtime's, of type '!llvm.func<void (ptr, i64, i32, i32)>'}}
func.func @blockscale_reduce_over_ranks() {
  return
}
func.func @amax(%a: memref<f32>) {
  blockscale.amax_over_ranks %a : memref<f32>
  return
}
