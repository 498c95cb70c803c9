// RUN: blockscale-opt %s -split-input-file -blockscale-define-serial-runtime | FileCheck %s

// The range in one call, and a message and abort; both weak, so that a program
// that links the object can define its own.

// CHECK-LABEL: llvm.mlir.global internal constant @blockscale_error_format("blockscale: %s, but got %lld\0A\00")
// CHECK-DAG:   llvm.func @dprintf(i32, !llvm.ptr, ...) -> i32
// CHECK-DAG:   llvm.func @abort()

// CHECK-LABEL: llvm.func weak @blockscale_parallel_for(
// CHECK-SAME:      [[N:%.+]]: i64, [[BODY:%.+]]: !llvm.ptr, [[CONTEXT:%.+]]: !llvm.ptr) {
// CHECK:         [[ZERO:%.+]] = llvm.mlir.constant(0 : i64)
// CHECK:         llvm.call [[BODY]]([[CONTEXT]], [[ZERO]], [[N]])
// CHECK-NEXT:    llvm.return
llvm.func @blockscale_parallel_for(i64, !llvm.ptr, !llvm.ptr)

// CHECK-LABEL: llvm.func weak @blockscale_report_error(
// CHECK-SAME:      [[MESSAGE:%.+]]: !llvm.ptr, [[FOUND:%.+]]: i64) {
// CHECK:         [[STDERR:%.+]] = llvm.mlir.constant(2 : i32)
// CHECK:         [[FORMAT:%.+]] = llvm.mlir.addressof @blockscale_error_format
// CHECK:         llvm.call @dprintf([[STDERR]], [[FORMAT]], [[MESSAGE]], [[FOUND]])
// CHECK:         llvm.call @abort()
llvm.func @blockscale_report_error(!llvm.ptr, i64)

// A program that reduces over ranks has to say how: one rank is none by default.
// CHECK-LABEL: llvm.func weak @blockscale_reduce_over_ranks(
// CHECK:         [[STDERR:%.+]] = llvm.mlir.constant(2 : i32)
// CHECK:         [[FORMAT:%.+]] = llvm.mlir.addressof @blockscale_ranks_format
// CHECK:         llvm.call @dprintf([[STDERR]], [[FORMAT]])
// CHECK:         llvm.call @abort()
llvm.func @blockscale_reduce_over_ranks(!llvm.ptr, i64, i32, i32)

// -----

// A module that declares none needs none.
// CHECK-LABEL: llvm.func @plain(
// CHECK-NOT:   blockscale_
llvm.func @plain() {
  llvm.return
}

// -----

// A module with its own definitions keeps them.
// CHECK-LABEL: llvm.func @blockscale_parallel_for(
// CHECK-NEXT:    llvm.return
// CHECK-NOT:   weak
llvm.func @blockscale_parallel_for(%n: i64, %body: !llvm.ptr, %context: !llvm.ptr) {
  llvm.return
}

// -----

// What the definitions call may be declared already.
// CHECK-COUNT-1: llvm.func @abort()
// CHECK-NOT:     llvm.func @abort()
// CHECK:         llvm.func weak @blockscale_report_error(
llvm.func @abort()
llvm.func @blockscale_report_error(!llvm.ptr, i64)
