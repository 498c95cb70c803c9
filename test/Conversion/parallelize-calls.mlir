// RUN: blockscale-opt %s -blockscale-parallelize-calls | FileCheck %s

// The arguments before begin and end travel in a struct on the stack; a function
// made for the callee unpacks them. Several calls of one callee share it.
llvm.func @kernel(!llvm.ptr, f32, i64, i64)

// CHECK-LABEL: llvm.func internal @kernel__range(
// CHECK-SAME:      [[CONTEXT:%.+]]: !llvm.ptr, [[BEGIN:%.+]]: i64, [[END:%.+]]: i64) {
// CHECK:         [[STRUCT:%.+]] = llvm.load [[CONTEXT]] : !llvm.ptr -> !llvm.struct<(ptr, f32)>
// CHECK:         [[PTR:%.+]] = llvm.extractvalue [[STRUCT]][0]
// CHECK:         [[FLOAT:%.+]] = llvm.extractvalue [[STRUCT]][1]
// CHECK:         llvm.call @kernel([[PTR]], [[FLOAT]], [[BEGIN]], [[END]])
// CHECK-NOT:   @kernel__range_

// CHECK-LABEL: llvm.func @one_call(
// CHECK-SAME:      [[X:%.+]]: !llvm.ptr, [[F:%.+]]: f32, [[N:%.+]]: i64) {
llvm.func @one_call(%x: !llvm.ptr, %f: f32, %n: i64) {
  // CHECK:      [[SLOT:%.+]] = llvm.alloca {{%.+}} x !llvm.struct<(ptr, f32)>
  // CHECK:      [[S0:%.+]] = llvm.insertvalue [[X]], {{%.+}}[0]
  // CHECK:      [[S1:%.+]] = llvm.insertvalue [[F]], [[S0]][1]
  // CHECK:      llvm.store [[S1]], [[SLOT]]
  // CHECK:      [[BODY:%.+]] = llvm.mlir.addressof @kernel__range
  // CHECK:      llvm.call @blockscale_parallel_for([[N]], [[BODY]], [[SLOT]])
  // CHECK-NOT:  llvm.call @kernel(
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @kernel(%x, %f, %zero, %n) {blockscale.parallel} : (!llvm.ptr, f32, i64, i64) -> ()
  llvm.return
}

// CHECK-LABEL: llvm.func @another_call(
// CHECK:         llvm.mlir.addressof @kernel__range :
llvm.func @another_call(%x: !llvm.ptr, %f: f32, %n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @kernel(%x, %f, %zero, %n) {blockscale.parallel} : (!llvm.ptr, f32, i64, i64) -> ()
  llvm.return
}

// A call in a loop does not take stack in each iteration: its slot is in the
// entry block.
// CHECK-LABEL: llvm.func @loop(
// CHECK:         llvm.alloca
// CHECK:         llvm.br ^[[LOOP:.+]]
// CHECK:       ^[[LOOP]]:
// CHECK-NOT:     llvm.alloca
// CHECK:         llvm.call @blockscale_parallel_for(
llvm.func @loop(%x: !llvm.ptr, %f: f32, %n: i64, %again: i1) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.br ^loop
^loop:
  llvm.call @kernel(%x, %f, %zero, %n) {blockscale.parallel} : (!llvm.ptr, f32, i64, i64) -> ()
  llvm.cond_br %again, ^loop, ^exit
^exit:
  llvm.return
}

// A call that is not marked stays.
// CHECK-LABEL: llvm.func @unmarked(
// CHECK:         llvm.call @kernel(
// CHECK-NOT:     blockscale_parallel_for
llvm.func @unmarked(%x: !llvm.ptr, %f: f32, %n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.call @kernel(%x, %f, %zero, %n) : (!llvm.ptr, f32, i64, i64) -> ()
  llvm.return
}
