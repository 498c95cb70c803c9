// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu | FileCheck %s
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu | FileCheck %s --check-prefix=ARRAYS
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --remarks-filter-analyse=gpu-launch --mlir-print-skip-regions -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAMES

// The gpu.module takes another name where the module has one of its name, and
// outputs may be in either order.
// CHECK: gpu.module @[[KERNELS:blockscale_kernels_[0-9]+]]
// CHECK-DAG: gpu.func @rows_k64(
// CHECK-DAG: gpu.func @rows_k64_1(
// CHECK-DAG: gpu.func @rows_k64_2(
// CHECK-DAG: gpu.func @rows_k64_3(
// CHECK-NOT: gpu.func @rows_k64_4
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

// Programs of rows that are equal have one kernel, whatever values are around them; one
// with another body has its own, whatever the printer is told to leave out. Where the stem
// of a name is taken, a number follows.
// CHECK-LABEL: func.func @sums
// CHECK: gpu.launch_func @[[KERNELS]]::@[[SUM:rows_k64]] {{.+}} args
// CHECK: gpu.launch_func @[[KERNELS]]::@[[SUM]] {{.+}} args
// CHECK: gpu.launch_func @[[KERNELS]]::@[[SUM]]_1 {{.+}} args
// CHECK: return
// NAMES: Function=[[SUM:rows_k64]] |
// NAMES: Function=[[SUM]] |
// NAMES: Function=[[SUM]]_1 |
func.func @sums(%x: memref<?x64xbf16>, %r: memref<?xf32>) {
  blockscale.kernel ins(%x : memref<?x64xbf16>) outs(%r : memref<?xf32>) {
  ^bb0(%lx: tensor<?x64xbf16>, %lr: tensor<?xf32>):
    %c0 = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c0 : f32) outs(%lr : tensor<?xf32>) -> tensor<?xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%lx : tensor<?x64xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%e: bf16, %old: f32):
      %w = arith.extf %e : bf16 to f32
      %s = arith.addf %old, %w : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    blockscale.yield %0 : tensor<?xf32>
  }
  %before = arith.constant 1.0 : f32
  blockscale.kernel ins(%x : memref<?x64xbf16>) outs(%r : memref<?xf32>) {
  ^bb0(%lx: tensor<?x64xbf16>, %lr: tensor<?xf32>):
    %c0 = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c0 : f32) outs(%lr : tensor<?xf32>) -> tensor<?xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%lx : tensor<?x64xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%e: bf16, %old: f32):
      %w = arith.extf %e : bf16 to f32
      %s = arith.addf %old, %w : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    blockscale.yield %0 : tensor<?xf32>
  }
  blockscale.kernel ins(%x : memref<?x64xbf16>) outs(%r : memref<?xf32>) {
  ^bb0(%lx: tensor<?x64xbf16>, %lr: tensor<?xf32>):
    %c0 = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c0 : f32) outs(%lr : tensor<?xf32>) -> tensor<?xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%lx : tensor<?x64xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%e: bf16, %old: f32):
      %w = arith.extf %e : bf16 to f32
      %p = arith.mulf %w, %w : f32
      %s = arith.addf %old, %p : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    blockscale.yield %0 : tensor<?xf32>
  }
  return
}

// Two that differ by a map alone, of one value a column and of one a row, have two.
// CHECK-LABEL: func.func @maps
// CHECK: gpu.launch_func @[[KERNELS]]::@[[COLUMNS:rows_k64_2]] {{.+}} args
// CHECK: gpu.launch_func @[[KERNELS]]::@rows_k64_3 {{.+}} args
// CHECK: return
// NAMES: Function=rows_k64_2 |
// NAMES: Function=rows_k64_3 |
func.func @maps(%x: memref<64x64xbf16>, %v: memref<64xf32>, %r: memref<64xf32>) {
  blockscale.kernel ins(%x, %v : memref<64x64xbf16>, memref<64xf32>) outs(%r : memref<64xf32>) {
  ^bb0(%lx: tensor<64x64xbf16>, %lv: tensor<64xf32>, %lr: tensor<64xf32>):
    %c0 = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c0 : f32) outs(%lr : tensor<64xf32>) -> tensor<64xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%lx, %lv : tensor<64x64xbf16>, tensor<64xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%e: bf16, %g: f32, %old: f32):
      %w = arith.extf %e : bf16 to f32
      %p = arith.mulf %w, %g : f32
      %s = arith.addf %old, %p : f32
      linalg.yield %s : f32
    } -> tensor<64xf32>
    blockscale.yield %0 : tensor<64xf32>
  }
  blockscale.kernel ins(%x, %v : memref<64x64xbf16>, memref<64xf32>) outs(%r : memref<64xf32>) {
  ^bb0(%lx: tensor<64x64xbf16>, %lv: tensor<64xf32>, %lr: tensor<64xf32>):
    %c0 = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c0 : f32) outs(%lr : tensor<64xf32>) -> tensor<64xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%lx, %lv : tensor<64x64xbf16>, tensor<64xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%e: bf16, %g: f32, %old: f32):
      %w = arith.extf %e : bf16 to f32
      %p = arith.mulf %w, %g : f32
      %s = arith.addf %old, %p : f32
      linalg.yield %s : f32
    } -> tensor<64xf32>
    blockscale.yield %0 : tensor<64xf32>
  }
  return
}

// Kernels that differ by a constant alone, or by what an attribute of an op says, are two.
// CHECK-LABEL: func.func @constants
// CHECK: gpu.launch_func @[[KERNELS]]::@[[ADD:elementwise_f32_by4_of_addf]] {{.+}} args
// CHECK: gpu.launch_func @[[KERNELS]]::@[[ADD]]_1 {{.+}} args
// CHECK: gpu.launch_func @[[KERNELS]]::@[[ADD]] {{.+}} args
// CHECK: gpu.launch_func @[[KERNELS]]::@[[ADD]]_2 {{.+}} args
// CHECK: return
// NAMES: Function=[[ADD:elementwise_f32_by4_of_addf]] |
// NAMES: Function=[[ADD]]_1 |
// NAMES: Function=[[ADD]] |
// NAMES: Function=[[ADD]]_2 |
func.func @constants(%x: memref<64x64xf32>, %r: memref<64x64xf32>) {
  blockscale.kernel ins(%x : memref<64x64xf32>) outs(%r : memref<64x64xf32>) {
  ^bb0(%lx: tensor<64x64xf32>, %lr: tensor<64x64xf32>):
    %c = arith.constant 1.0 : f32
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%lx : tensor<64x64xf32>) outs(%lr : tensor<64x64xf32>) {
    ^bb0(%e: f32, %old: f32):
      %s = arith.addf %e, %c : f32
      linalg.yield %s : f32
    } -> tensor<64x64xf32>
    blockscale.yield %0 : tensor<64x64xf32>
  }
  blockscale.kernel ins(%x : memref<64x64xf32>) outs(%r : memref<64x64xf32>) {
  ^bb0(%lx: tensor<64x64xf32>, %lr: tensor<64x64xf32>):
    %c = arith.constant 2.0 : f32
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%lx : tensor<64x64xf32>) outs(%lr : tensor<64x64xf32>) {
    ^bb0(%e: f32, %old: f32):
      %s = arith.addf %e, %c : f32
      linalg.yield %s : f32
    } -> tensor<64x64xf32>
    blockscale.yield %0 : tensor<64x64xf32>
  }
  blockscale.kernel ins(%x : memref<64x64xf32>) outs(%r : memref<64x64xf32>) {
  ^bb0(%lx: tensor<64x64xf32>, %lr: tensor<64x64xf32>):
    %c = arith.constant 1.0 : f32
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%lx : tensor<64x64xf32>) outs(%lr : tensor<64x64xf32>) {
    ^bb0(%e: f32, %old: f32):
      %s = arith.addf %e, %c : f32
      linalg.yield %s : f32
    } -> tensor<64x64xf32>
    blockscale.yield %0 : tensor<64x64xf32>
  }
  blockscale.kernel ins(%x : memref<64x64xf32>) outs(%r : memref<64x64xf32>) {
  ^bb0(%lx: tensor<64x64xf32>, %lr: tensor<64x64xf32>):
    %c = arith.constant 1.0 : f32
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%lx : tensor<64x64xf32>) outs(%lr : tensor<64x64xf32>) {
    ^bb0(%e: f32, %old: f32):
      %s = arith.addf %e, %c fastmath<nnan> : f32
      linalg.yield %s : f32
    } -> tensor<64x64xf32>
    blockscale.yield %0 : tensor<64x64xf32>
  }
  return
}

// Kernels of one stem have shared memory of their own.
// CHECK-LABEL: func.func @arrays
// CHECK: gpu.launch_func @[[KERNELS]]::@[[LONG:rows_k1024]] {{.+}} args
// CHECK: gpu.launch_func @[[KERNELS]]::@[[LONG]]_1 {{.+}} args
// CHECK: return
// ARRAYS: llvm.mlir.global internal @[[FIRST:rows_k1024_parts0]]()
// ARRAYS: gpu.func @rows_k1024(
// ARRAYS: llvm.mlir.addressof @[[FIRST]]
// ARRAYS: llvm.mlir.global internal @[[SECOND:rows_k1024_1_parts0]]()
// ARRAYS: gpu.func @rows_k1024_1(
// ARRAYS-NOT: llvm.mlir.addressof @[[FIRST]]
// ARRAYS: llvm.mlir.addressof @[[SECOND]]
func.func @arrays(%x: memref<?x1024xbf16>, %r: memref<?xf32>) {
  blockscale.kernel ins(%x : memref<?x1024xbf16>) outs(%r : memref<?xf32>) {
  ^bb0(%lx: tensor<?x1024xbf16>, %lr: tensor<?xf32>):
    %c0 = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c0 : f32) outs(%lr : tensor<?xf32>) -> tensor<?xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%lx : tensor<?x1024xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%e: bf16, %old: f32):
      %w = arith.extf %e : bf16 to f32
      %s = arith.addf %old, %w : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    blockscale.yield %0 : tensor<?xf32>
  }
  blockscale.kernel ins(%x : memref<?x1024xbf16>) outs(%r : memref<?xf32>) {
  ^bb0(%lx: tensor<?x1024xbf16>, %lr: tensor<?xf32>):
    %c0 = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c0 : f32) outs(%lr : tensor<?xf32>) -> tensor<?xf32>
    %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%lx : tensor<?x1024xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%e: bf16, %old: f32):
      %w = arith.extf %e : bf16 to f32
      %p = arith.mulf %w, %w : f32
      %s = arith.addf %old, %p : f32
      linalg.yield %s : f32
    } -> tensor<?xf32>
    blockscale.yield %0 : tensor<?xf32>
  }
  return
}
