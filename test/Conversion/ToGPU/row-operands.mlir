// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu --canonicalize --cse | FileCheck %s
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_110a --canonicalize --cse | FileCheck %s --check-prefix=SM110
// RUN: blockscale-opt %s --blockscale-lower-kernels-to-gpu=chip=sm_80 --canonicalize --cse | FileCheck %s --check-prefixes=SM80,%if llvm-22 %{TWO%} %else %{ONE%}

// What the kernels of rows do under operands, recipes and sizes that few have.

// Codes of 6 bits have a byte each. Arithmetic clears what is above them, and moves
// signs from the tops of bytes. There is no NaN: minima with the largest value, 7.5,
// make it that, and every code keeps its sign. LLVM 22 has two masks for what is above
// the codes and for their signs, which later releases make one.
// CHECK-LABEL: gpu.func @quantize_e2m3_rceil_bf16_k32(
// CHECK-COUNT-16: nvvm.convert.f32x2.to.f6x2 {{.+}} : i16(f6E2M3FN)
// CHECK: gpu.return
// SM80-LABEL: gpu.func @quantize_e2m3_rceil_bf16_k32_sm80(
// SM80: %[[LARGEST:.+]] = arith.constant 7.500000e+00 : f32
// SM80-NOT: arith.minimumf
// SM80: arith.trunci %{{.+}} : i32 to i16
// SM80-NOT: arith.minimumf
// SM80: %[[MAGNITUDE:.+]] = llvm.call_intrinsic "llvm.fabs"(%{{.+}}) : (f32) -> f32
// SM80: llvm.call_intrinsic "llvm.minnum"(%[[MAGNITUDE]], %[[LARGEST]])
// SM80-COUNT-3: llvm.intr.fshr
// SM80: %[[CODES:.+]] = llvm.intr.fshr
// SM80-COUNT-3: llvm.intr.fshl
// SM80: %[[TOPS:.+]] = llvm.intr.fshl
// TWO-NEXT: %[[CLEAR:.+]] = arith.andi %[[CODES]], %c1061109567_i32 : i32
// SM80-NEXT: %[[MOVED:.+]] = arith.shrui %[[TOPS]], %c2_i32 : i32
// SM80-NEXT: %[[SIGNS:.+]] = arith.andi %[[MOVED]], %c538976288_i32 : i32
// TWO-NEXT: %[[MAGNITUDES:.+]] = arith.andi %[[CLEAR]], %c-538976289_i32 : i32
// ONE-NEXT: %[[MAGNITUDES:.+]] = arith.andi %[[CODES]], %c522133279_i32 : i32
// SM80-NEXT: arith.ori %[[MAGNITUDES]], %[[SIGNS]] : i32
func.func @e2m3(%x: memref<?x32xbf16>, %q: memref<?x32xi8>, %s: memref<?x1xf8E8M0FNU>) {
  blockscale.kernel ins(%x : memref<?x32xbf16>) outs(%q, %s : memref<?x32xi8>, memref<?x1xf8E8M0FNU>) {
  ^bb0(%lx: tensor<?x32xbf16>, %lq: tensor<?x32xf6E2M3FN>, %ls: tensor<?x1xf8E8M0FNU>):
    %0, %1 = blockscale.quantize %lx block [1, 32] : tensor<?x32xbf16> -> tensor<?x32xf6E2M3FN>, tensor<?x1xf8E8M0FNU>
    blockscale.yield %0, %1 : tensor<?x32xf6E2M3FN>, tensor<?x1xf8E8M0FNU>
  }
  return
}

// A row of 21 elements starts at any 2 bytes, its data at any byte. The second block
// has 5 elements in three words, and zeros in the others; the last byte has one code.
// CHECK-LABEL: gpu.func @quantize_e2m1_te_bf16_k21(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 2 : i64}, %[[Q:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 1 : i64}, %{{.+}}: !llvm.ptr<1> {llvm.align = 2 : i64}, %{{.+}}: i64)
// CHECK: %[[FIRST:.+]] = arith.muli %[[ROW:.+]], %c21_i64 : i64
// CHECK: llvm.getelementptr %[[X]][%[[FIRST]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
// CHECK-COUNT-21: llvm.load %{{.+}} {alignment = 2 : i64} : !llvm.ptr<1> -> i16
// CHECK-NOT: llvm.load
// CHECK: %[[LAST:.+]] = arith.andi %{{.+}}, %c1048575_i32 : i32
// CHECK: %[[BYTE:.+]] = arith.muli %[[ROW]], %c11_i64 : i64
// CHECK: llvm.getelementptr %[[Q]][%[[BYTE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK-COUNT-11: llvm.store %{{.+}} {alignment = 1 : i64} : i8, !llvm.ptr<1>
// CHECK: llvm.store %{{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: gpu.return
func.func @tail(%x: memref<?x21xbf16>, %q: memref<?x11xi8>, %s: memref<?x2xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x21xbf16>) outs(%q, %s : memref<?x11xi8>, memref<?x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x21xbf16>, %lq: tensor<?x21xf4E2M1FN>, %ls: tensor<?x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te : tensor<?x21xbf16> -> tensor<?x21xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x21xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  }
  return
}

// Groups of 16 elements are numbered along rows: two of them in each. Of the four
// words of a group each is one operand of cvt.rs, whose first source is the last
// element. sm_110a has none.
// CHECK-LABEL: gpu.func @quantize_e2m1_te_f32_k32_rng(
// CHECK-SAME: %[[RNG:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 8 : i64}, %{{[a-z0-9]+}}: i64)
// CHECK: llvm.load %[[RNG]] {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK: %[[NEXT:.+]] = llvm.getelementptr %[[RNG]][1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
// CHECK: llvm.load %[[NEXT]] {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK: %[[GROUP:.+]] = arith.muli %{{.+}}, %c2_i64 : i64
// CHECK: %[[LOW:.+]] = arith.trunci %[[GROUP]] : i64 to i32
// CHECK: %[[WIDE:.+]] = arith.extui %[[LOW]] : i32 to i64
// CHECK: arith.muli %[[WIDE]], %c3528531795_i64 : i64
// CHECK-COUNT-2: nvvm.inline_ptx "{ .reg .b16 h0, h1; cvt.rs.satfinite.e2m1x4.f32 h0, {$4, $3, $2, $1}, $9; cvt.rs.satfinite.e2m1x4.f32 h1, {$8, $7, $6, $5}, $10; mov.b32 $0, {h0, h1}; }"
// CHECK: %[[SECOND:.+]] = arith.addi %[[GROUP]], %c1_i64 : i64
// CHECK: arith.trunci %[[SECOND]] : i64 to i32
// CHECK-COUNT-2: nvvm.inline_ptx "{ .reg .b16 h0, h1; cvt.rs
// CHECK: gpu.return
// SM110-LABEL: gpu.func @quantize_e2m1_te_f32_k32_rng_sm110(
// SM110-NOT: cvt.rs
// SM110-COUNT-32: llvm.nvvm.fma.rz.f
// SM110-NOT: cvt.rs
// SM110: gpu.return
func.func @rng(%x: memref<?x32xf32>, %r: memref<2xi64>, %q: memref<?x16xi8>, %s: memref<?x2xf8E4M3FN>) {
  blockscale.kernel ins(%x, %r : memref<?x32xf32>, memref<2xi64>) outs(%q, %s : memref<?x16xi8>, memref<?x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xf32>, %lr: tensor<2xi64>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te rng(%lr : tensor<2xi64>) : tensor<?x32xf32> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  }
  return
}

// Of a part of a larger tensor the first group and the groups of a row are behind seed and offset.
// CHECK-LABEL: gpu.func @quantize_e2m1_te_f32_k32_placed_rng(
// CHECK-SAME: %[[RNG:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 8 : i64}, %{{[a-z0-9]+}}: i64)
// CHECK: %[[FIRST_AT:.+]] = llvm.getelementptr %[[RNG]][2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
// CHECK: %[[FIRST:.+]] = llvm.load %[[FIRST_AT]] {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK: %[[COUNT_AT:.+]] = llvm.getelementptr %[[RNG]][3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
// CHECK: %[[COUNT:.+]] = llvm.load %[[COUNT_AT]] {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK: %[[ROWS:.+]] = arith.muli %{{.+}}, %[[COUNT]] : i64
// CHECK: arith.addi %[[FIRST]], %[[ROWS]] : i64
// CHECK: gpu.return
func.func @rng_of_a_part(%x: memref<?x32xf32>, %r: memref<4xi64>, %q: memref<?x16xi8>, %s: memref<?x2xf8E4M3FN>) {
  blockscale.kernel ins(%x, %r : memref<?x32xf32>, memref<4xi64>) outs(%q, %s : memref<?x16xi8>, memref<?x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xf32>, %lr: tensor<4xi64>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te rng(%lr : tensor<4xi64>) : tensor<?x32xf32> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  }
  return
}

// The group of a row is the first that ends behind it; without one the row gets
// zeros, and nothing of it is loaded. There is a global value for each group. Codes
// are stored in one place.
// CHECK-LABEL: gpu.func @quantize_e2m1_te_f32_k32_amax_each_group_row_groups(
// CHECK-SAME: %[[G:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %[[OFFSETS:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{[a-z0-9]+}}: i64, %[[COUNT:[a-z0-9]+]]: i64)
// One warp checks the ends, and one lane of it writes the first fault to the record.
// CHECK: %[[VARIABLE:.+]] = llvm.mlir.addressof @blockscale_error_record
// CHECK: %[[ISFIRST:.+]] = arith.cmpi eq, %block_id_x, %c0 : index
// CHECK: %[[INWARP:.+]] = arith.cmpi ult, %{{.+}}, %c32 : index
// CHECK: %[[CHECKS:.+]] = arith.andi %[[ISFIRST]], %[[INWARP]] : i1
// CHECK: scf.if %[[CHECKS]] {
// CHECK:   %[[OWN:.+]] = scf.for %{{.+}} step %c32 iter_args(%{{.+}} = %c-1_i32) -> (i32) {
// CHECK:   %[[LEAST:.+]] = nvvm.redux.sync umin %[[OWN]], %c-1_i32
// CHECK:   %[[ADDRESS:.+]] = llvm.load %[[VARIABLE]]
// CHECK:   %[[RECORD:.+]] = llvm.select
// CHECK:   %[[SWAPPED:.+]] = llvm.cmpxchg %[[RECORD]], %c0_i64, %{{.+}} monotonic monotonic
// CHECK:   %[[WRITES:.+]] = llvm.extractvalue %[[SWAPPED]][1]
// CHECK:   scf.if %[[WRITES]] {
// CHECK-COUNT-3: llvm.store {{.+}} : i64
// CHECK: %[[COUNTINDEX:.+]] = arith.index_cast %[[COUNT]] : i64 to index
// CHECK: %[[BOTH:.+]]:2 = scf.for %[[I:.+]] = %c0 to %[[COUNTINDEX]] step %c1 iter_args(%[[BEGIN:.+]] = %c0_i32, %[[BEFORE:.+]] = %c0_i32) -> (i32, i32) {
// CHECK:   %[[I64:.+]] = arith.index_cast %[[I]] : index to i64
// CHECK:   %[[P:.+]] = llvm.getelementptr %[[OFFSETS]][%[[I64]]]
// CHECK:   %[[STORED:.+]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK:   %[[BEYOND:.+]] = arith.cmpi slt, %{{.+}}, %[[STORED]] : i32
// CHECK:   %[[INSIDE:.+]] = arith.select %[[BEYOND]], %c0_i32, %[[STORED]] : i32
// CHECK:   %[[END:.+]] = arith.maxsi %[[INSIDE]], %[[BEGIN]] : i32
// CHECK:   %[[BEHIND:.+]] = arith.cmpi slt, %[[ROW:.+]], %[[END]] : i32
// CHECK:   %[[NEXT:.+]] = arith.addi %[[BEFORE]], %c1_i32 : i32
// CHECK:   %[[NUMBER:.+]] = arith.select %[[BEHIND]], %[[BEFORE]], %[[NEXT]] : i32
// CHECK:   scf.yield %[[END]], %[[NUMBER]] : i32, i32
// CHECK: %[[FOUND:.+]] = arith.extui %[[BOTH]]#1 : i32 to i64
// CHECK: %[[COVERED:.+]] = arith.cmpi ult, %[[FOUND]], %[[COUNT]] : i64
// CHECK-NEXT: %[[CODES:.+]]:5 = scf.if %[[COVERED]] -> (i32, i32, i32, i32, i16) {
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK:   %[[GP:.+]] = llvm.getelementptr %[[G]][%[[FOUND]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK:   llvm.load %[[GP]] {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK:   %[[PAIR:.+]] = nvvm.convert.f32x2.to.f8x2 {{.+}} : i16(f8E4M3FN)
// CHECK-NOT: llvm.store
// CHECK:   scf.yield %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %[[PAIR]] : i32, i32, i32, i32, i16
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %c0_i32, %c0_i32, %c0_i32, %c0_i32, %c0_i16 : i32, i32, i32, i32, i16
// CHECK-NEXT: }
// CHECK-NOT: llvm.load
// CHECK: %[[W0:.+]] = llvm.insertelement %[[CODES]]#0, %{{.+}}[%c0_i32
// CHECK: %[[W1:.+]] = llvm.insertelement %[[CODES]]#1, %[[W0]][%c1_i32
// CHECK: %[[W2:.+]] = llvm.insertelement %[[CODES]]#2, %[[W1]][%c2_i32
// CHECK: %[[W3:.+]] = llvm.insertelement %[[CODES]]#3, %[[W2]][%c3_i32
// CHECK: llvm.store %[[W3]], %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: llvm.store %[[CODES]]#4, %{{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: gpu.return
func.func @groups(%x: memref<?x32xf32>, %a: memref<?xf32>, %o: memref<?xi32>, %q: memref<?x16xi8>, %s: memref<?x2xf8E4M3FN>) {
  blockscale.kernel ins(%x, %a, %o : memref<?x32xf32>, memref<?xf32>, memref<?xi32>) outs(%q, %s : memref<?x16xi8>, memref<?x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xf32>, %la: tensor<?xf32>, %lo: tensor<?xi32>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te global_amax(%la : tensor<?xf32>) offsets(%lo : tensor<?xi32>) group_dim 0 : tensor<?x32xf32> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  }
  return
}

// Blocks have groups of their own, that of their last element. Where the first has
// none the second has none either, and nothing is loaded; codes are stored in one place.
// CHECK-LABEL: gpu.func @quantize_e2m1_te_f32_k32_column_groups(
// CHECK-SAME: %[[COUNT:[a-z0-9]+]]: i64) kernel
// CHECK: %[[FOUND:.+]]:3 = scf.for {{.+}} -> (i32, i32, i32) {
// CHECK:   %[[REST:.+]] = arith.remui %{{.+}}, %c16_i32 : i32
// CHECK:   %[[CUT:.+]] = arith.cmpi sgt, %[[REST]], %c0_i32 : i32
// CHECK:   %[[WHOLE:.+]] = arith.select %[[CUT]], %c0_i32, %{{.+}} : i32
// CHECK:   arith.maxsi %[[WHOLE]], %{{.+}} : i32
// CHECK:   arith.cmpi sgt, %{{.+}}, %c15_i32 : i32
// CHECK:   arith.cmpi sgt, %{{.+}}, %c31_i32 : i32
// CHECK: %[[NUMBER:.+]] = arith.extui %[[FOUND]]#1 : i32 to i64
// CHECK: %[[OTHER:.+]] = arith.extui %[[FOUND]]#2 : i32 to i64
// CHECK: %[[FIRST:.+]] = arith.cmpi ult, %[[NUMBER]], %[[COUNT]] : i64
// CHECK-NEXT: %[[CODES:.+]]:5 = scf.if %[[FIRST]] -> (i32, i32, i32, i32, i16) {
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 32 : i64} : !llvm.ptr<1> -> vector<8xi32>
// CHECK-NOT: llvm.store
// CHECK:   %[[SECOND:.+]] = arith.cmpi ult, %[[OTHER]], %[[COUNT]] : i64
// CHECK:   %[[W2:.+]] = arith.select %[[SECOND]], %{{.+}}, %c0_i32 : i32
// CHECK:   %[[W3:.+]] = arith.select %[[SECOND]], %{{.+}}, %c0_i32 : i32
// CHECK:   %[[LOW:.+]] = arith.andi %[[BOTH:.+]], %c255_i16 : i16
// CHECK:   %[[PAIR:.+]] = arith.select %[[SECOND]], %[[BOTH]], %[[LOW]] : i16
// CHECK:   scf.yield %{{.+}}, %{{.+}}, %[[W2]], %[[W3]], %[[PAIR]] : i32, i32, i32, i32, i16
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %c0_i32, %c0_i32, %c0_i32, %c0_i32, %c0_i16 : i32, i32, i32, i32, i16
// CHECK-NEXT: }
// CHECK-NOT: llvm.load
// CHECK: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: llvm.store %[[CODES]]#4, %{{.+}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: gpu.return
func.func @column_groups(%x: memref<?x32xf32>, %o: memref<?xi32>, %q: memref<?x16xi8>, %s: memref<?x2xf8E4M3FN>) {
  blockscale.kernel ins(%x, %o : memref<?x32xf32>, memref<?xi32>) outs(%q, %s : memref<?x16xi8>, memref<?x2xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x32xf32>, %lo: tensor<?xi32>, %lq: tensor<?x32xf4E2M1FN>, %ls: tensor<?x2xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te offsets(%lo : tensor<?xi32>) group_dim 1 : tensor<?x32xf32> -> tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x32xf4E2M1FN>, tensor<?x2xf8E4M3FN>
  }
  return
}

// Values of rows and blocks lie as x does. modelopt scales given amaxes by the whole
// range of E4M3 first.
// CHECK-LABEL: gpu.func @quantize_e2m1_modelopt_f32_k16_amax_each_row_block_amax(
// CHECK-SAME: %[[G:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %[[AMAX:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{[a-z0-9]+}}: i64) kernel
// CHECK-DAG: %[[SIX:.+]] = arith.constant 6.000000e+00 : f32
// CHECK-DAG: %[[MOST:.+]] = arith.constant 4.480000e+02 : f32
// CHECK: %[[AP:.+]] = llvm.getelementptr %[[AMAX]][%[[ROW:.+]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: %[[A:.+]] = llvm.load %[[AP]] {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[GP:.+]] = llvm.getelementptr %[[G]][%[[ROW]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: %[[T:.+]] = llvm.load %[[GP]] {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK: %[[S:.+]] = arith.divf %[[A]], %[[SIX]] : f32
// CHECK: %[[ZERO:.+]] = arith.cmpf oeq, %[[S]], %{{.+}} : f32
// CHECK: %[[NONZERO:.+]] = arith.select %[[ZERO]], %{{.+}}, %[[S]] : f32
// CHECK: %[[SCALED:.+]] = arith.mulf %[[NONZERO]], %[[MOST]] : f32
// CHECK: %[[WHOLE:.+]] = arith.divf %[[T]], %[[SIX]] : f32
// CHECK: arith.divf %[[SCALED]], %[[WHOLE]] : f32
// CHECK-NOT: llvm.fabs
// CHECK: gpu.return
func.func @row_globals(%x: memref<?x?x16xf32>, %g: memref<?x?xf32>, %a: memref<?x?x1xf32>, %q: memref<?x?x8xi8>, %s: memref<?x?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x, %g, %a : memref<?x?x16xf32>, memref<?x?xf32>, memref<?x?x1xf32>) outs(%q, %s : memref<?x?x8xi8>, memref<?x?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x?x16xf32>, %lg: tensor<?x?xf32>, %la: tensor<?x?x1xf32>, %lq: tensor<?x?x16xf4E2M1FN>, %ls: tensor<?x?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe modelopt global_amax(%lg : tensor<?x?xf32>) block_amax(%la : tensor<?x?x1xf32>) : tensor<?x?x16xf32> -> tensor<?x?x16xf4E2M1FN>, tensor<?x?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x?x16xf4E2M1FN>, tensor<?x?x1xf8E4M3FN>
  }
  return
}

// The errors of 16 elements under two scales are added one after the other. They
// are divided by 6 in f32 where scales are usual, by 1536 in f64 elsewhere.
// CHECK-LABEL: gpu.func @quantize_e2m1_te_4over6_mse_f32_k16(
// CHECK-DAG: %[[HIGH:.+]] = arith.constant dense<0.166666657> : vector<8xf32>
// CHECK: %[[ERRORS:.+]]:2 = scf.if %{{.+}} -> (f32, f32) {
// CHECK-COUNT-2: llvm.intr.fma(%{{.+}}, %[[HIGH]], %{{.+}})
// CHECK-COUNT-15: arith.addf %{{.+}}, %{{.+}} : f32
// CHECK-COUNT-2: llvm.intr.fma(%{{.+}}, %[[HIGH]], %{{.+}})
// CHECK-COUNT-15: arith.addf %{{.+}}, %{{.+}} : f32
// CHECK: } else {
// CHECK-COUNT-2: arith.mulf %{{.+}} : vector<8xf64>
// CHECK-COUNT-15: arith.addf %{{.+}}, %{{.+}} : f32
// CHECK-COUNT-2: arith.mulf %{{.+}} : vector<8xf64>
// CHECK-COUNT-15: arith.addf %{{.+}}, %{{.+}} : f32
// CHECK: %[[BETTER:.+]] = arith.cmpf olt, %[[ERRORS]]#1, %[[ERRORS]]#0 : f32
// CHECK: arith.select %[[BETTER]], %{{.+}}, %{{.+}} : i32
// CHECK: gpu.return
func.func @four_over_six(%x: memref<?x16xf32>, %q: memref<?x8xi8>, %s: memref<?x1xf8E4M3FN>) {
  blockscale.kernel ins(%x : memref<?x16xf32>) outs(%q, %s : memref<?x8xi8>, memref<?x1xf8E4M3FN>) {
  ^bb0(%lx: tensor<?x16xf32>, %lq: tensor<?x16xf4E2M1FN>, %ls: tensor<?x1xf8E4M3FN>):
    %0, %1 = blockscale.quantize %lx block [1, 16] recipe te_4over6_mse : tensor<?x16xf32> -> tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
    blockscale.yield %0, %1 : tensor<?x16xf4E2M1FN>, tensor<?x1xf8E4M3FN>
  }
  return
}
