// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu | FileCheck %s

// The gpu.module takes another name where the module has one of its name, and
// outputs may be in either order.
// CHECK: gpu.module @[[KERNELS:blockscale_kernels_[0-9]+]]
// CHECK: func.func private @blockscale_kernels()
func.func private @blockscale_kernels()

// CHECK-LABEL: func.func @f
// CHECK-SAME: %{{.+}}: memref<?x32xbf16>, %[[S:.+]]: memref<?x1xf8E8M0FNU>, %[[Q:.+]]: memref<?x32xf8E4M3FN>
// CHECK: %[[QI:.+]] = memref.extract_aligned_pointer_as_index %[[Q]]
// CHECK: %[[QA:.+]] = arith.index_cast %[[QI]]
// CHECK: %[[QP:.+]] = llvm.inttoptr %[[QA]]
// CHECK: %[[SI:.+]] = memref.extract_aligned_pointer_as_index %[[S]]
// CHECK: %[[SA:.+]] = arith.index_cast %[[SI]]
// CHECK: %[[SP:.+]] = llvm.inttoptr %[[SA]]
// CHECK: gpu.launch_func @[[KERNELS]]::@quantize_e4m3_rceil_bf16_k32 {{.+}} args(%{{.+}} : !llvm.ptr<1>, %[[QP]] : !llvm.ptr<1>, %[[SP]] : !llvm.ptr<1>, %{{.+}} : i64)
func.func @f(%x: memref<?x32xbf16>, %s: memref<?x1xf8E8M0FNU>, %q: memref<?x32xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%s, %q : memref<?x1xf8E8M0FNU>, memref<?x32xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xbf16>, %ls: tensor<?x1xf8E8M0FNU>, %lq: tensor<?x32xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %1, %0 : tensor<?x1xf8E8M0FNU>, tensor<?x32xf8E4M3FN>
  }
  return
}
