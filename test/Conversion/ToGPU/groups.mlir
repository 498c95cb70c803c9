// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s

// Members of a group are one kernel, whose CTAs take the arguments of the member
// that they work for: the last one that does not begin after them. Rows that end within a
// block in one member do so in all.
// CHECK-LABEL: gpu.func @quantize_32x1_e4m3_rceil_bf16_k64_of3(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[Q:[a-z0-9]+]]: !llvm.ptr<1> {{{[^}]+}}}, %[[S:[a-z0-9]+]]: !llvm.ptr<1> {{{[^}]+}}}, %[[M:[a-z0-9]+]]: i64,
// CHECK-SAME: %[[Y:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{[a-z0-9]+}}: !llvm.ptr<1> {{{[^}]+}}}, %{{[a-z0-9]+}}: !llvm.ptr<1> {{{[^}]+}}}, %{{[a-z0-9]+}}: i64, %[[FIRST:[a-z0-9]+]]: i64,
// CHECK: %[[BLOCK:.+]] = gpu.block_id x
// CHECK: %[[BEGIN:.+]] = arith.index_cast %[[FIRST]] : i64 to index
// CHECK: %[[BEFORE:.+]] = arith.cmpi ult, %[[BLOCK]], %[[BEGIN]]
// CHECK: %[[XY:.+]] = arith.select %[[BEFORE]], %[[X]], %[[Y]] : !llvm.ptr<1>
// CHECK: %[[FIRSTXY:.+]] = arith.select %[[BEFORE]], %c0, %[[BEGIN]] : index
// CHECK: %[[BEFORE:.+]] = arith.cmpi ult, %[[BLOCK]], %[[NEXT:.+]] :
// CHECK: arith.select %[[BEFORE]], %[[XY]], %{{.+}} : !llvm.ptr<1>
// CHECK: %[[MINE:.+]] = arith.select %[[BEFORE]], %[[FIRSTXY]], %[[NEXT]] : index
// CHECK: arith.subi %[[BLOCK]], %[[MINE]] : index
// CHECK: gpu.return

// A launch of as many blocks as all members have. Those of 64 columns are one wide.
// CHECK-LABEL: func.func @group
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<?x64xbf16>, %{{.+}}: memref<320x64xbf16>
// CHECK: %[[ROWS:.+]] = memref.dim %[[X]], %c0
// CHECK: %[[OFX:.+]] = arith.ceildivui %[[ROWS]], %c256
// CHECK: %[[OFXY:.+]] = arith.addi %[[OFX]], %c2
// CHECK: %[[ALL:.+]] = arith.addi %[[OFX]], %c3
// CHECK: %[[SECOND:.+]] = arith.index_cast %[[OFX]] : index to i64
// CHECK: %[[THIRD:.+]] = arith.index_cast %[[OFXY]] : index to i64
// CHECK: gpu.launch_func @blockscale_kernels::@quantize_32x1_e4m3_rceil_bf16_k64_of3 blocks in (%[[ALL]], %c1, %c1) {{.+}} %[[SECOND]] : i64, {{.+}} %[[THIRD]] : i64)
// CHECK-NOT: gpu.launch_func
func.func @group(%x: memref<?x64xbf16>, %y: memref<320x64xbf16>, %z: memref<32x64xbf16>, %q: memref<?x64xf8E4M3FN>, %s: memref<?x64xf8E8M0FNU>, %p: memref<320x64xf8E4M3FN>, %t: memref<10x64xf8E8M0FNU>, %o: memref<32x64xf8E4M3FN>, %u: memref<1x64xf8E8M0FNU>) {
  blockscale.kernel ins(%x, %y, %z : memref<?x64xbf16>, memref<320x64xbf16>, memref<32x64xbf16>) outs(%q, %s, %p, %t, %o, %u : memref<?x64xf8E4M3FN>, memref<?x64xf8E8M0FNU>, memref<320x64xf8E4M3FN>, memref<10x64xf8E8M0FNU>, memref<32x64xf8E4M3FN>, memref<1x64xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x64xbf16>, %ly: tensor<320x64xbf16>, %lz: tensor<32x64xbf16>, %lq: tensor<?x64xf8E4M3FN>, %ls: tensor<?x64xf8E8M0FNU>, %lp: tensor<320x64xf8E4M3FN>, %lt: tensor<10x64xf8E8M0FNU>, %lo: tensor<32x64xf8E4M3FN>, %lu: tensor<1x64xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [32, 1] : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x64xf8E8M0FNU>
    %2, %3 = blockscale.quantize %ly block [32, 1] : tensor<320x64xbf16> -> tensor<320x64xf8E4M3FN>, tensor<10x64xf8E8M0FNU>
    %4, %5 = blockscale.quantize %lz block [32, 1] : tensor<32x64xbf16> -> tensor<32x64xf8E4M3FN>, tensor<1x64xf8E8M0FNU>
    blockscale.yield %0, %1, %2, %3, %4, %5 : tensor<?x64xf8E4M3FN>, tensor<?x64xf8E8M0FNU>, tensor<320x64xf8E4M3FN>, tensor<10x64xf8E8M0FNU>, tensor<32x64xf8E4M3FN>, tensor<1x64xf8E8M0FNU>
  }
  return
}

// Where rows of one member are no whole blocks, the kernel has tails.
// CHECK: gpu.launch_func @blockscale_kernels::@quantize_16x1_e2m1_te_bf16_k64_transposed_tails_of2
func.func @tails(%x: memref<32x64xbf16>, %y: memref<33x64xbf16>, %q: memref<64x16xi8>, %s: memref<64x2xf8E4M3FN>, %p: memref<64x17xi8>, %t: memref<64x3xf8E4M3FN>) {
  blockscale.kernel ins(%x, %y : memref<32x64xbf16>, memref<33x64xbf16>) outs(%q, %s, %p, %t : memref<64x16xi8>, memref<64x2xf8E4M3FN>, memref<64x17xi8>, memref<64x3xf8E4M3FN>) {
  ^bb0(%lx: tensor<32x64xbf16>, %ly: tensor<33x64xbf16>, %lq: tensor<64x32xf4E2M1FN>, %ls: tensor<64x2xf8E4M3FN>, %lp: tensor<64x33xf4E2M1FN>, %lt: tensor<64x3xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [16, 1] transposed recipe te : tensor<32x64xbf16> -> tensor<64x32xf4E2M1FN>, tensor<64x2xf8E4M3FN>
    %2, %3 = blockscale.quantize %ly block [16, 1] transposed recipe te : tensor<33x64xbf16> -> tensor<64x33xf4E2M1FN>, tensor<64x3xf8E4M3FN>
    blockscale.yield %0, %1, %2, %3 : tensor<64x32xf4E2M1FN>, tensor<64x2xf8E4M3FN>, tensor<64x33xf4E2M1FN>, tensor<64x3xf8E4M3FN>
  }
  return
}
