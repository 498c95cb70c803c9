// RUN: blockscale-opt %s -blockscale-lower-kernels-to-cpu -split-input-file | FileCheck %s

// Where sizes are static the verifiers have checked everything.
// CHECK-NOT:   blockscale_report_error
// CHECK-LABEL: func.func @static(
// CHECK-NOT:     scf.if
// CHECK:         call @static_quantize_0({{.*}}) {blockscale.parallel}
func.func @static(%x: memref<4x32xbf16>, %q: memref<4x16xi8>, %s: memref<4x2xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x32xbf16>) outs(%q, %s : memref<4x16xi8>, memref<4x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x32xbf16>, %lq: tensor<4x32xf4E2M1FN>, %ls: tensor<4x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x32xbf16> -> tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x32xf4E2M1FN>, tensor<4x2xf8E4M3FN>
  }
  return
}

// -----

// A dynamic last dimension must be a multiple of the block, and the buffers must
// fit: else the kernel is skipped, and the rule and the number found reported.
// CHECK-DAG:   llvm.mlir.global internal constant [[MULTIPLE:@.+]]("quantize: expected the last dimension of x to be a multiple of 16\00")
// CHECK-DAG:   llvm.mlir.global internal constant [[DATA:@.+]]("quantize: expected dimension 1 of data in memory to fit the shape of x\00")
// CHECK-DAG:   llvm.mlir.global internal constant [[SCALE:@.+]]("quantize: expected dimension 1 of scale to fit the shape of x\00")
// CHECK-DAG:   llvm.func @blockscale_report_error(!llvm.ptr, i64)
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:      [[X:%.+]]: memref<4x?xbf16>, [[Q:%.+]]: memref<4x?xi8>, [[S:%.+]]: memref<4x?xf8E4M3FN>) {
// CHECK:         [[K:%.+]] = memref.dim [[X]],
// CHECK:         [[REST:%.+]] = arith.remui [[K]],
// CHECK:         [[IS_MULTIPLE:%.+]] = arith.cmpi eq, [[REST]],
// CHECK:         [[BYTES:%.+]] = memref.dim [[Q]],
// CHECK:         [[FITS_DATA:%.+]] = arith.cmpi eq, [[BYTES]],
// CHECK:         [[SCALES:%.+]] = memref.dim [[S]],
// CHECK:         [[FITS_SCALE:%.+]] = arith.cmpi eq, [[SCALES]],
// CHECK:         scf.if [[IS_MULTIPLE]] {
// CHECK:           scf.if [[FITS_DATA]] {
// CHECK:             scf.if [[FITS_SCALE]] {
// CHECK:               call @dynamic_quantize_0(
// CHECK:             } else {
// CHECK:               [[TEXT:%.+]] = llvm.mlir.addressof [[SCALE]]
// CHECK:               [[FOUND:%.+]] = arith.index_cast [[SCALES]] : index to i64
// CHECK:               llvm.call @blockscale_report_error([[TEXT]], [[FOUND]])
// CHECK:           } else {
// CHECK:             llvm.mlir.addressof [[DATA]]
// CHECK:         } else {
// CHECK:           [[TEXT:%.+]] = llvm.mlir.addressof [[MULTIPLE]]
// CHECK:           [[FOUND:%.+]] = arith.index_cast [[K]] : index to i64
// CHECK:           llvm.call @blockscale_report_error([[TEXT]], [[FOUND]])
func.func @dynamic(%x: memref<4x?xbf16>, %q: memref<4x?xi8>, %s: memref<4x?xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<4x?xbf16>) outs(%q, %s : memref<4x?xi8>, memref<4x?xf8E4M3FN>) {
  ^bb0(%lx: tensor<4x?xbf16>, %lq: tensor<4x?xf4E2M1FN>, %ls: tensor<4x?xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] : tensor<4x?xbf16> -> tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<4x?xf4E2M1FN>, tensor<4x?xf8E4M3FN>
  }
  return
}
