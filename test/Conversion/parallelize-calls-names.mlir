// RUN: blockscale-opt %s -blockscale-parallelize-calls | FileCheck %s

// The module's own functions may have the names that the pass would choose.
// CHECK-DAG: llvm.func @kernel__range(i64)
// CHECK-DAG: llvm.func internal @kernel__range_0(
llvm.func @kernel(i64, i64)
llvm.func @kernel__range(i64)

// CHECK-LABEL: llvm.func @call(
// CHECK:         llvm.mlir.addressof @kernel__range_0
llvm.func @call(%n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @kernel(%zero, %n) {blockscale.parallel} : (i64, i64) -> ()
  llvm.return
}
