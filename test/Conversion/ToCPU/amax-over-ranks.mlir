// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -canonicalize -cse | FileCheck %s

// A call of the host's function, with the first element, how many there are, and
// float32 and max as C has them.
// CHECK: llvm.func @blockscale_reduce_over_ranks(!llvm.ptr, i64, i32, i32)
// CHECK-LABEL: func.func @scalar(
// CHECK-SAME:      [[A:%.+]]: memref<f32>)
// CHECK-DAG:     [[ONE:%.+]] = arith.constant 1 : i64
// CHECK-DAG:     [[FLOAT:%.+]] = llvm.mlir.constant(10 : i32)
// CHECK-DAG:     [[MAX:%.+]] = llvm.mlir.constant(0 : i32)
// CHECK-DAG:     [[INDEX:%.+]] = memref.extract_aligned_pointer_as_index [[A]]
// CHECK-DAG:     [[NUMBER:%.+]] = arith.index_cast [[INDEX]] : index to i64
// CHECK-DAG:     [[POINTER:%.+]] = llvm.inttoptr [[NUMBER]]
// CHECK:         llvm.call @blockscale_reduce_over_ranks([[POINTER]], [[ONE]], [[FLOAT]], [[MAX]])
func.func @scalar(%a: memref<f32>) {
  blockscale.amax_over_ranks %a : memref<f32>
  return
}

// A part of a buffer, of a size that is not known.
// CHECK-LABEL: func.func @part(
// CHECK-SAME:      [[A:%.+]]: memref<?x3xf32, strided<[3, 1], offset: ?>>)
// CHECK-DAG:     [[FOUR:%.+]] = arith.constant 4 : index
// CHECK-DAG:     [[THREE:%.+]] = arith.constant 3 : index
// CHECK-DAG:     {{%.+}}, [[OFFSET:%.+]], {{%.+}}:2, {{%.+}}:2 = memref.extract_strided_metadata [[A]]
// CHECK-DAG:     [[BYTES:%.+]] = arith.muli [[OFFSET]], [[FOUR]]
// CHECK-DAG:     [[BEGIN:%.+]] = arith.addi {{%.+}}, [[BYTES]]
// CHECK-DAG:     [[NUMBER:%.+]] = arith.index_cast [[BEGIN]] : index to i64
// CHECK-DAG:     [[POINTER:%.+]] = llvm.inttoptr [[NUMBER]]
// CHECK-DAG:     [[ALL:%.+]] = arith.muli {{%.+}}, [[THREE]]
// CHECK-DAG:     [[COUNT:%.+]] = arith.index_cast [[ALL]] : index to i64
// CHECK:         llvm.call @blockscale_reduce_over_ranks([[POINTER]], [[COUNT]],
func.func @part(%a: memref<?x3xf32, strided<[3, 1], offset: ?>>) {
  blockscale.amax_over_ranks %a : memref<?x3xf32, strided<[3, 1], offset: ?>>
  return
}
