// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_90a --canonicalize --cse | FileCheck %s --check-prefix=SM90
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_80 --remarks-filter-analyse=gpu-launch 2>&1 | FileCheck %s --check-prefix=SM80

#element = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#swizzled = #blockscale.layout<swizzle_128x4>

// Rows of 16 fragments: two warps have four rows that are 32 apart, and a CTA two
// such lines. All of a thread's elements are loaded before anything else. 62 sums give
// those of its two leaves' vectors, three shuffles that of the warp's part of a row; two
// parts, one barrier. Words of x are hidden, so that they are converted again. No thread
// leaves before that, so rows beyond the last one load that.
// CHECK: llvm.mlir.global internal @[[NAME:rows_quantize_e4m3_rceil_bf16_k1024_swizzled]]_parts0() {{.+}} : !llvm.array<16 x f32>
// CHECK: gpu.func @[[NAME]](%{{.+}}: !llvm.ptr<1> {llvm.align = 32 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 2 : i64}, %[[ROWS:[a-z0-9]+]]: i64, %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 32 : i64}, %[[W:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 32 : i64}) kernel attributes {nvvm.reqntid = array<i32: 128, 1, 1>}
// CHECK: %[[LAST:.+]] = arith.subi %[[ROWS]], %c1_i64
// CHECK: %[[ROW:.+]] = arith.minui %{{.+}}, %[[LAST]]
// CHECK: arith.muli %[[ROW]], %c1024_i64
// CHECK-NOT: scf.if
// CHECK-COUNT-4: llvm.load {{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-8: arith.mulf {{.+}} : vector<8xf32>
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK: scf.if
// CHECK: llvm.store {{.+}} : f32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-2: llvm.load {{.+}} : !llvm.ptr<3> -> f32
// CHECK: arith.addf
// CHECK-COUNT-32: llvm.inline_asm "", "=r,0"
// CHECK-NOT: gpu.barrier
// CHECK: arith.divf {{.+}} : vector<2xf32>
// CHECK: arith.cmpi ult, %{{.+}}, %[[ROWS]]
// CHECK: scf.if
// CHECK-COUNT-4: llvm.load {{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK: llvm.store {{.+}} {alignment = 32 : i64} : vector<8xi32>, !llvm.ptr<1>
// CHECK: llvm.store {{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
// CHECK: gpu.return

// Chunks of full warps go through shared memory, x as well as the codes. Where x was,
// once it is in registers, are then the f32 of what is one value a column, of which each
// lane loads a part before x. So many CTAs have registers that memory and
// arithmetic overlap.
// SM90: gpu.func @rows_quantize_e4m3_rceil_bf16_k1024_swizzled_sm90({{.+}}) kernel attributes {nvvm.minctasm = 8 : i32, nvvm.reqntid = array<i32: 128, 1, 1>}
// SM90: nvvm.vote.sync
// SM90: %[[W:.+]] = llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xbf16>
// SM90-COUNT-3: llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xbf16>
// SM90-NOT: llvm.load {{.+}} -> vector<4xbf16>
// SM90-COUNT-8: nvvm.cp.async.shared.global
// SM90: nvvm.cp.async.wait.group 0
// SM90: else
// SM90: nvvm.bar.warp.sync
// SM90: llvm.bitcast %[[W]] : vector<4xbf16> to vector<2xi32>
// SM90-COUNT-4: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// SM90-NEXT: nvvm.bar.warp.sync
// SM90-NOT: nvvm.cp.async.shared.global
// SM90: gpu.barrier
// SM90-COUNT-16: llvm.load {{.+}} : !llvm.ptr<3> -> vector<4xi32>
// SM90-NOT: llvm.load {{.+}} : !llvm.ptr<1> -> vector<4xi32>
// SM90: gpu.return

// Where there is no time to store codes so, inputs are loaded so all the same.
// SM80: staging | {{.*}}a fragment is accessed through shared memory where it is loaded
func.func @swizzled(%x: memref<?x1024xbf16>, %w: memref<1024xbf16>, %q: memref<?x1024xf8E4M3FN>, %s: memref<?x8x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %w : memref<?x1024xbf16>, memref<1024xbf16>) outs(%q, %s : memref<?x1024xf8E4M3FN>, memref<?x8x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x1024xbf16>, %lw: tensor<1024xbf16>, %lq: tensor<?x1024xf8E4M3FN>, %ls: tensor<?x32xf8E8M0FNU, #swizzled>):
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %m = tensor.dim %lx, %c0 : tensor<?x1024xbf16>
    %e = tensor.empty(%m) : tensor<?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<?x1024xbf16>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: bf16, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.addf %r, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<?xf32>
    %inverse = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.divf %one, %a : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %d = tensor.empty(%m) : tensor<?x1024xbf16>
    %y = linalg.generic {indexing_maps = [#element, #row, #column, #element], iterator_types = ["parallel", "parallel"]} ins(%lx, %inverse, %lw : tensor<?x1024xbf16>, tensor<?xf32>, tensor<1024xbf16>) outs(%d : tensor<?x1024xbf16>) {
    ^bb0(%a: bf16, %i: f32, %b: bf16, %o: bf16):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.mulf %0, %i : f32
      %2 = arith.extf %b : bf16 to f32
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.truncf %3 : f32 to bf16
      linalg.yield %4 : bf16
    } -> tensor<?x1024xbf16>
    %0, %1 = blockscale.quantize %y block [1, 32] recipe rceil : tensor<?x1024xbf16> -> tensor<?x1024xf8E4M3FN>, tensor<?x32xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<?x1024xf8E4M3FN>, tensor<?x32xf8E8M0FNU, #swizzled>
  }
  return
}

// A maximum of rows that end within a leaf, on its own. Rows have two fragments, so that two
// lanes have a row, and a warp 16 rows. The last fragment has 3 elements, the others of it are
// neutral. The first lane of a row stores the result.
// CHECK-LABEL: gpu.func @rows_k35(
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: i64, %{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %[[S:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64})
// CHECK: %[[NONE:.+]] = arith.constant 0xFF800000 : f32
// CHECK: scf.if
// CHECK-COUNT-32: llvm.load {{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: else
// CHECK-COUNT-3: llvm.load {{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load
// CHECK-COUNT-29: arith.select %{{.+}}, %{{.+}}, %[[NONE]] : f32
// CHECK-NOT: arith.select
// CHECK-COUNT-1: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK-NOT: gpu.barrier
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK: gpu.return
func.func @alone(%x: memref<?x35xf32>, %s: memref<?xf32>) {
  blockscale.kernel ins(%x : memref<?x35xf32>) outs(%s : memref<?xf32>) {
  ^bb0(%lx: tensor<?x35xf32>, %ls: tensor<?xf32>):
    %least = arith.constant 0xFF800000 : f32
    %f = linalg.fill ins(%least : f32) outs(%ls : tensor<?xf32>) -> tensor<?xf32>
    %max = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<?x35xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.maximumf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    blockscale.yield %max : tensor<?xf32>
  }
  return
}

// Of rows of three fragments four lanes have one each, of which the last one has none: its
// elements are neutral, too.
// CHECK-LABEL: gpu.func @rows_k70(
// CHECK: %[[NONE:.+]] = arith.constant 0xFF800000 : f32
// CHECK-COUNT-27: arith.select %{{.+}}, %{{.+}}, %[[NONE]] : f32
// CHECK-NOT: arith.select
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: gpu.return
func.func @three_fragments(%x: memref<?x70xf32>, %s: memref<?xf32>) {
  blockscale.kernel ins(%x : memref<?x70xf32>) outs(%s : memref<?xf32>) {
  ^bb0(%lx: tensor<?x70xf32>, %ls: tensor<?xf32>):
    %least = arith.constant 0xFF800000 : f32
    %f = linalg.fill ins(%least : f32) outs(%ls : tensor<?xf32>) -> tensor<?xf32>
    %max = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<?x70xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.maximumf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    blockscale.yield %max : tensor<?xf32>
  }
  return
}

// Exponentials that a sum needs, and what is divided by it, are computed once: they take the
// registers of the elements, which nothing needs behind the maximum.
// CHECK-LABEL: gpu.func @rows_k32(
// CHECK-COUNT-4: arith.subf {{.+}} : vector<8xf32>
// CHECK-NOT: arith.subf
// CHECK: arith.divf
// CHECK-NOT: arith.subf
// CHECK: gpu.return
func.func @softmax(%x: memref<?x32xf32>, %y: memref<?x32xf32>) {
  blockscale.kernel ins(%x : memref<?x32xf32>) outs(%y : memref<?x32xf32>) {
  ^bb0(%lx: tensor<?x32xf32>, %ly: tensor<?x32xf32>):
    %c0 = arith.constant 0 : index
    %two = arith.constant 2.0 : f32
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0xFF800000 : f32
    %m = tensor.dim %lx, %c0 : tensor<?x32xf32>
    %d = tensor.empty(%m) : tensor<?xf32>
    %e = tensor.empty(%m) : tensor<?x32xf32>
    %f = linalg.fill ins(%least : f32) outs(%d : tensor<?xf32>) -> tensor<?xf32>
    %max = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<?x32xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.maximumf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %p = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%lx, %max : tensor<?x32xf32>, tensor<?xf32>) outs(%e : tensor<?x32xf32>) {
    ^bb0(%a: f32, %r: f32, %o: f32):
      %0 = arith.subf %a, %r : f32
      %1 = math.fma %0, %two, %two : f32
      linalg.yield %1 : f32
    } -> tensor<?x32xf32>
    %g = linalg.fill ins(%zero : f32) outs(%d : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<?x32xf32>) outs(%g : tensor<?xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %y0 = linalg.generic {indexing_maps = [#element, #row, #element], iterator_types = ["parallel", "parallel"]} ins(%p, %sum : tensor<?x32xf32>, tensor<?xf32>) outs(%e : tensor<?x32xf32>) {
    ^bb0(%a: f32, %r: f32, %o: f32):
      %0 = arith.divf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<?x32xf32>
    blockscale.yield %y0 : tensor<?x32xf32>
  }
  return
}

// Rows that 8 warps have in 16 passes: 128 parts, of which a lane combines 16
// neighbours.
// CHECK-LABEL: gpu.func @rows_k65536(
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK: scf.for %{{.+}} = %c0 to %c16
// CHECK: llvm.load {{.+}} : !llvm.ptr<1>
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK: gpu.barrier
// CHECK-COUNT-16: llvm.load {{.+}} : !llvm.ptr<3> -> f32
// CHECK-NOT: llvm.load
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK: gpu.return
func.func @passes(%x: memref<?x65536xf32>, %s: memref<?xf32>) {
  blockscale.kernel ins(%x : memref<?x65536xf32>) outs(%s : memref<?xf32>) {
  ^bb0(%lx: tensor<?x65536xf32>, %ls: tensor<?xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%ls : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<?x65536xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: f32, %r: f32):
      %0 = arith.addf %a, %r : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    blockscale.yield %sum : tensor<?xf32>
  }
  return
}

// Lines of neighbours, or 32 a tile of rows: two or four of them a CTA.
// CHECK-LABEL: func.func @swizzled
// CHECK: %[[T:.+]] = arith.ceildivui %{{.+}}, %c128
// CHECK: %[[L:.+]] = arith.muli %[[T]], %c32
// CHECK: %[[B:.+]] = arith.ceildivui %[[L]], %c2
// CHECK: gpu.launch_func @blockscale_kernels::@[[NAME]] blocks in (%[[B]], %c1, %c1) threads in (%c128, %c1, %c1)
// CHECK-LABEL: func.func @alone
// CHECK: %[[L:.+]] = arith.ceildivui %{{.+}}, %c16
// CHECK: %[[B:.+]] = arith.ceildivui %[[L]], %c4
// CHECK: gpu.launch_func @blockscale_kernels::@rows_k35 blocks in (%[[B]], %c1, %c1) threads in (%c128, %c1, %c1)

// A column that sums of rows take is read from there, too.
// SM90-LABEL: gpu.func @rows_quantize_e4m3_rceil_bf16_k512_swizzled_sm90(
// SM90-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// SM90-COUNT-8: nvvm.cp.async.shared.global
// SM90-COUNT-4: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// SM90-COUNT-16: llvm.load {{.+}} : !llvm.ptr<3> -> vector<4xi32>
// SM90: nvvm.shfl.sync bfly
// SM90-COUNT-16: llvm.load {{.+}} : !llvm.ptr<3> -> vector<4xi32>
// SM90: gpu.return
func.func @early_column(%x: memref<64x512xbf16>, %w: memref<512xf32>, %q: memref<64x512xf8E4M3FN>, %s: memref<1x4x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %w : memref<64x512xbf16>, memref<512xf32>) outs(%q, %s : memref<64x512xf8E4M3FN>, memref<1x4x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x512xbf16>, %lw: tensor<512xf32>, %lq: tensor<64x512xf8E4M3FN>, %ls: tensor<64x16xf8E8M0FNU, #swizzled>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #column, #row], iterator_types = ["parallel", "reduction"]} ins(%lx, %lw : tensor<64x512xbf16>, tensor<512xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: bf16, %b: f32, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.mulf %0, %b : f32
      %2 = arith.addf %r, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<64xf32>
    %d = tensor.empty() : tensor<64x512xbf16>
    %y = linalg.generic {indexing_maps = [#element, #row, #column, #element], iterator_types = ["parallel", "parallel"]} ins(%lx, %sum, %lw : tensor<64x512xbf16>, tensor<64xf32>, tensor<512xf32>) outs(%d : tensor<64x512xbf16>) {
    ^bb0(%a: bf16, %i: f32, %b: f32, %o: bf16):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.mulf %0, %i : f32
      %2 = arith.mulf %1, %b : f32
      %3 = arith.truncf %2 : f32 to bf16
      linalg.yield %3 : bf16
    } -> tensor<64x512xbf16>
    %0, %1 = blockscale.quantize %y block [1, 32] recipe rceil : tensor<64x512xbf16> -> tensor<64x512xf8E4M3FN>, tensor<64x16xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<64x512xf8E4M3FN>, tensor<64x16xf8E8M0FNU, #swizzled>
  }
  return
}

// One that is multiplied as bf16 is read where it is needed, and from memory.
// SM90-LABEL: gpu.func @rows_quantize_e4m3_rceil_bf16_k512_swizzled_sm90_1(
// SM90-COUNT-8: nvvm.cp.async.shared.global
// SM90-NOT: llvm.store %{{.+}} : vector<4xi32>, !llvm.ptr<3>
// SM90: nvvm.shfl.sync bfly
// SM90: scf.if
// SM90-COUNT-8: llvm.load {{.+}} : !llvm.ptr<1> -> vector<4xi32>
// SM90: gpu.return
func.func @bf16_column(%x: memref<64x512xbf16>, %w: memref<512xbf16>, %q: memref<64x512xf8E4M3FN>, %s: memref<1x4x32x4x4xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %w : memref<64x512xbf16>, memref<512xbf16>) outs(%q, %s : memref<64x512xf8E4M3FN>, memref<1x4x32x4x4xf8E8M0FNU>) {
  ^bb0(%lx: tensor<64x512xbf16>, %lw: tensor<512xbf16>, %lq: tensor<64x512xf8E4M3FN>, %ls: tensor<64x16xf8E8M0FNU, #swizzled>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#element, #row], iterator_types = ["parallel", "reduction"]} ins(%lx : tensor<64x512xbf16>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: bf16, %r: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.addf %r, %0 : f32
      linalg.yield %1 : f32
    } -> tensor<64xf32>
    %d = tensor.empty() : tensor<64x512xbf16>
    %y = linalg.generic {indexing_maps = [#element, #row, #column, #element], iterator_types = ["parallel", "parallel"]} ins(%lx, %sum, %lw : tensor<64x512xbf16>, tensor<64xf32>, tensor<512xbf16>) outs(%d : tensor<64x512xbf16>) {
    ^bb0(%a: bf16, %i: f32, %b: bf16, %o: bf16):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %b : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.truncf %2 : f32 to bf16
      %4 = arith.extf %3 : bf16 to f32
      %5 = arith.mulf %4, %i : f32
      %6 = arith.truncf %5 : f32 to bf16
      linalg.yield %6 : bf16
    } -> tensor<64x512xbf16>
    %0, %1 = blockscale.quantize %y block [1, 32] recipe rceil : tensor<64x512xbf16> -> tensor<64x512xf8E4M3FN>, tensor<64x16xf8E8M0FNU, #swizzled>
    blockscale.yield %0, %1 : tensor<64x512xf8E4M3FN>, tensor<64x16xf8E8M0FNU, #swizzled>
  }
  return
}
