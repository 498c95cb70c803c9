// RUN: blockscale-opt %s --blockscale-to-cpu | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: blockscale-opt %s --blockscale-to-cpu=host-runtime=true | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: blockscale-opt %s --blockscale-to-cpu=host-runtime=false | FileCheck %s --check-prefixes=CHECK,SERIAL

// The runtime is the embedder's, or a weak one in the module.
// HOST-DAG:   llvm.func @blockscale_parallel_for(i64, !llvm.ptr, !llvm.ptr)
// HOST-DAG:   llvm.func @blockscale_report_error(!llvm.ptr, i64)
// SERIAL-DAG: llvm.func weak @blockscale_parallel_for(
// SERIAL-DAG: llvm.func weak @blockscale_report_error(
// CHECK-DAG:  llvm.func @_mlir_ciface_quantize(
// CHECK-DAG:  llvm.func internal @quantize(
func.func @quantize(%x: tensor<?x?xf32>) -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>) {
  %q, %s = blockscale.quantize %x block [1, 16]
      : tensor<?x?xf32> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  return %q, %s : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
}
