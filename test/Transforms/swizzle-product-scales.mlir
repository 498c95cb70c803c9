// RUN: blockscale-opt %s --blockscale-swizzle-product-scales | FileCheck %s
// RUN: blockscale-opt %s --blockscale-swizzle-product-scales --canonicalize | FileCheck %s --check-prefix=FOLDED
// RUN: blockscale-opt %s --blockscale-swizzle-product-scales=chip=sm_90a | FileCheck %s
// RUN: blockscale-opt %s --blockscale-swizzle-product-scales=chip=sm_89 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>

// Linear scales are swizzled before the product; the quantizer that makes them for the
// product alone writes them so.
// CHECK-DAG: #[[ROWS:.+]] = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
// CHECK-DAG: #[[COLUMNS:.+]] = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>
// CHECK-DAG: #[[ANY:.+]] = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>
// CHECK-LABEL: func.func @linear
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize
// CHECK: %[[TS:.+]] = blockscale.swizzle %[[S]] : tensor<48x4xf8E4M3FN> -> tensor<48x4xf8E4M3FN, #swizzled>
// CHECK: %[[TW:.+]] = blockscale.swizzle %{{.+}} : tensor<40x4xf8E4M3FN> -> tensor<40x4xf8E4M3FN, #swizzled>
// CHECK: blockscale.scaled_mm %[[Q]], %{{.+}} scales(%[[TS]], %[[TW]])
// FOLDED-LABEL: func.func @linear
// FOLDED: %[[Q:.+]], %[[S:.+]] = blockscale.quantize {{.*}} -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>
// FOLDED: %[[TW:.+]] = blockscale.swizzle
// FOLDED: blockscale.scaled_mm %[[Q]], %{{.+}} scales(%[[S]], %[[TW]])
func.func @linear(%x: tensor<48x64xbf16>, %w: tensor<40x64xf4E2M1FN>, %ws: tensor<40x4xf8E4M3FN>) -> tensor<48x40xf32> {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>
  %y = blockscale.scaled_mm %q, %w scales(%s, %ws) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// The only scales of a product with a plain operand.
// CHECK-LABEL: func.func @plain
// CHECK: %[[TB:.+]] = blockscale.swizzle
// CHECK: scales(none, %[[TB]])
func.func @plain(%a: tensor<48x64xbf16>, %b: tensor<40x64xf4E2M1FN>, %sb: tensor<40x4xf8E4M3FN>) -> tensor<48x40xf32> {
  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16]
      : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// One of both.
// CHECK-LABEL: func.func @one
// CHECK-SAME: %[[SA:[^:]+]]: tensor<48x4xf8E4M3FN, #swizzled>
// CHECK: %[[TB:.+]] = blockscale.swizzle
// CHECK-NOT: blockscale.swizzle
// CHECK: scales(%[[SA]], %[[TB]])
func.func @one(%sa: tensor<48x4xf8E4M3FN, #swizzled>, %a: tensor<48x64xf4E2M1FN>, %b: tensor<40x64xf4E2M1FN>, %sb: tensor<40x4xf8E4M3FN>) -> tensor<48x40xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// What a kernel was given stays.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: blockscale.swizzle
// CHECK: return
func.func @kernel(%a: tensor<48x64xf4E2M1FN>, %s: tensor<48x4xf8E4M3FN>, %y: tensor<48x48xf32>) -> tensor<48x48xf32> {
  %0 = blockscale.kernel ins(%a, %s : tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>) outs(%y : tensor<48x48xf32>) {
  ^bb0(%la: tensor<48x64xf4E2M1FN>, %ls: tensor<48x4xf8E4M3FN>, %ly: tensor<48x48xf32>):
    %1 = blockscale.scaled_mm %la, %la scales(%ls, %ls) block [1, 16]
        : tensor<48x64xf4E2M1FN>, tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>, tensor<48x4xf8E4M3FN> -> tensor<48x48xf32>
    blockscale.yield %1 : tensor<48x48xf32>
  } -> tensor<48x48xf32>
  return %0 : tensor<48x48xf32>
}

// Scales that offsets part are swizzled group by group, B's of rows matrix by matrix.
// CHECK-LABEL: func.func @row_groups
// CHECK: %[[SA:.+]] = blockscale.swizzle %{{.+}} offsets(%[[ENDS:.+]] : tensor<3xi32>) {blockscale.ends_checked} : tensor<?x2xf8E8M0FNU> -> tensor<?x2xf8E8M0FNU, #[[ROWS]]>
// CHECK: %[[SB:.+]] = blockscale.swizzle %{{.+}} : tensor<3x40x2xf8E8M0FNU> -> tensor<3x40x2xf8E8M0FNU, #swizzled>
// CHECK: blockscale.scaled_grouped_mm {{.*}} offsets(%[[ENDS]]) scales(%[[SA]], %[[SB]])
func.func @row_groups(%a: tensor<?x64xf8E4M3FN>, %b: tensor<3x40x64xf8E4M3FN>, %ends: tensor<3xi32>, %sa: tensor<?x2xf8E8M0FNU>, %sb: tensor<3x40x2xf8E8M0FNU>) -> tensor<?x40xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<?x64xf8E4M3FN>, tensor<3x40x64xf8E4M3FN>, tensor<3xi32>, tensor<?x2xf8E8M0FNU>, tensor<3x40x2xf8E8M0FNU> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}

// Those of K both; tiles of all groups at once are taken apart first.
// CHECK-LABEL: func.func @depth_groups
// CHECK: %[[LINEAR:.+]] = blockscale.swizzle %{{.+}} sizes(%{{.+}}) : tensor<?x8xf8E8M0FNU, #swizzled> -> tensor<?x8xf8E8M0FNU>
// CHECK: %[[SA:.+]] = blockscale.swizzle %[[LINEAR]] offsets(%[[ENDS:.+]] : tensor<3xi32>) block 32 {blockscale.ends_checked} : tensor<?x8xf8E8M0FNU> -> tensor<?x8xf8E8M0FNU, #[[COLUMNS]]>
// CHECK: %[[SB:.+]] = blockscale.swizzle %{{.+}} offsets(%[[ENDS]] : tensor<3xi32>) block 32 {blockscale.ends_checked} : tensor<40x8xf8E8M0FNU> ->
// CHECK: blockscale.scaled_grouped_mm {{.*}} scales(%[[SA]], %[[SB]])
func.func @depth_groups(%a: tensor<?x256xf8E4M3FN>, %b: tensor<40x256xf8E4M3FN>, %ends: tensor<3xi32>, %sa: tensor<?x8xf8E8M0FNU, #swizzled>, %sb: tensor<40x8xf8E8M0FNU>) -> tensor<3x?x40xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<?x256xf8E4M3FN>, tensor<40x256xf8E4M3FN>, tensor<3xi32>, tensor<?x8xf8E8M0FNU, #swizzled>, tensor<40x8xf8E8M0FNU> -> tensor<3x?x40xf32>
  return %y : tensor<3x?x40xf32>
}

// A dynamic number of groups is one of the layout, too.
// CHECK-LABEL: func.func @dynamic_groups
// CHECK: %[[SA:.+]] = blockscale.swizzle %{{.+}} offsets(%[[ENDS:.+]] : tensor<?xi32>) {blockscale.ends_checked} : tensor<80x2xf8E8M0FNU> -> tensor<80x2xf8E8M0FNU, #[[ANY]]>
// CHECK: %[[SB:.+]] = blockscale.swizzle %{{.+}} : tensor<?x40x2xf8E8M0FNU> -> tensor<?x40x2xf8E8M0FNU, #swizzled>
// CHECK: blockscale.scaled_grouped_mm {{.*}} offsets(%[[ENDS]]) scales(%[[SA]], %[[SB]])
func.func @dynamic_groups(%a: tensor<80x64xf8E4M3FN>, %b: tensor<?x40x64xf8E4M3FN>, %ends: tensor<?xi32>, %sa: tensor<80x2xf8E8M0FNU>, %sb: tensor<?x40x2xf8E8M0FNU>) -> tensor<80x40xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<80x64xf8E4M3FN>, tensor<?x40x64xf8E4M3FN>, tensor<?xi32>, tensor<80x2xf8E8M0FNU>, tensor<?x40x2xf8E8M0FNU> -> tensor<80x40xf32>
  return %y : tensor<80x40xf32>
}

// So is none, which the layout has no number for.
// CHECK-LABEL: func.func @no_groups
// CHECK: blockscale.swizzle %{{.+}} offsets(%{{.+}} : tensor<0xi32>) {blockscale.ends_checked} : tensor<80x2xf8E8M0FNU> -> tensor<80x2xf8E8M0FNU, #[[ANY]]>
func.func @no_groups(%a: tensor<80x64xf8E4M3FN>, %b: tensor<0x40x64xf8E4M3FN>, %ends: tensor<0xi32>, %sa: tensor<80x2xf8E8M0FNU>, %sb: tensor<0x40x2xf8E8M0FNU, #swizzled>) -> tensor<80x40xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<80x64xf8E4M3FN>, tensor<0x40x64xf8E4M3FN>, tensor<0xi32>, tensor<80x2xf8E8M0FNU>, tensor<0x40x2xf8E8M0FNU, #swizzled> -> tensor<80x40xf32>
  return %y : tensor<80x40xf32>
}

// A quantizer of what products of the same groups read alone takes their ends, and writes
// the tiles of each group, for all products.
// CHECK-LABEL: func.func @takes_offsets
// CHECK-SAME: %[[ENDS:[a-z0-9]+]]: tensor<3xi32>
// CHECK: blockscale.quantize %{{.+}} block [1, 16] offsets(%[[ENDS]] : tensor<3xi32>) {blockscale.ends_checked}
// FOLDED-LABEL: func.func @takes_offsets
// FOLDED: %[[Q:.+]], %[[S:.+]] = blockscale.quantize {{.+}} offsets({{.+}} -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #[[ROWS:.+]]>
// FOLDED-NOT: blockscale.swizzle
// FOLDED: blockscale.scaled_grouped_mm %[[Q]], {{.+}} scales(%[[S]],
// FOLDED: blockscale.scaled_grouped_mm %[[Q]], {{.+}} scales(%[[S]],
func.func @takes_offsets(%ends: tensor<3xi32>, %x: tensor<48x64xbf16>, %w: tensor<3x40x64xf4E2M1FN>, %ws: tensor<3x40x4xf8E4M3FN, #swizzled>) -> (tensor<48x40xbf16>, tensor<48x40xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>
  %y = blockscale.scaled_grouped_mm %q, %w offsets(%ends) scales(%s, %ws) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<48x4xf8E4M3FN>, tensor<3x40x4xf8E4M3FN, #swizzled> -> tensor<48x40xbf16>
  %z = blockscale.scaled_grouped_mm %q, %w offsets(%ends) scales(%s, %ws) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<48x4xf8E4M3FN>, tensor<3x40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
  return %y, %z : tensor<48x40xbf16>, tensor<48x40xf32>
}

// Along K groups cut the last dimension of the data, which are columns of x or, where the
// results are transposed, its rows.
// CHECK-LABEL: func.func @takes_offsets_of_k
// CHECK: blockscale.quantize %{{.+}} block [1, 32] offsets(%{{.+}}) group_dim 1
// CHECK: blockscale.quantize %{{.+}} block [32, 1] transposed offsets(%{{.+}} : tensor<3xi32>) {
func.func @takes_offsets_of_k(%ends: tensor<3xi32>, %x: tensor<48x96xbf16>, %g: tensor<96x64xbf16>) -> tensor<3x48x64xf32> {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<48x96xbf16> -> tensor<48x96xf8E4M3FN>, tensor<48x3xf8E8M0FNU>
  %p, %t = blockscale.quantize %g block [32, 1] transposed : tensor<96x64xbf16> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %y = blockscale.scaled_grouped_mm %q, %p offsets(%ends) scales(%s, %t) block [1, 32]
      : tensor<48x96xf8E4M3FN>, tensor<64x96xf8E4M3FN>, tensor<3xi32>, tensor<48x3xf8E8M0FNU>, tensor<64x3xf8E8M0FNU> -> tensor<3x48x64xf32>
  return %y : tensor<3x48x64xf32>
}

// The codes of rows of no group are read.
// CHECK-LABEL: func.func @another_reader
// CHECK: blockscale.quantize %{{.+}} block [1, 16] :
// CHECK: blockscale.swizzle {{.+}} offsets(
func.func @another_reader(%ends: tensor<3xi32>, %x: tensor<48x64xbf16>, %w: tensor<3x40x64xf4E2M1FN>, %ws: tensor<3x40x4xf8E4M3FN, #swizzled>) -> (tensor<48x40xbf16>, tensor<48x64xf4E2M1FN>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>
  %y = blockscale.scaled_grouped_mm %q, %w offsets(%ends) scales(%s, %ws) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<48x4xf8E4M3FN>, tensor<3x40x4xf8E4M3FN, #swizzled> -> tensor<48x40xbf16>
  return %y, %q : tensor<48x40xbf16>, tensor<48x64xf4E2M1FN>
}

// Two products have other groups.
// CHECK-LABEL: func.func @other_groups
// CHECK: blockscale.quantize %{{.+}} block [1, 16] :
func.func @other_groups(%ends: tensor<3xi32>, %others: tensor<3xi32>, %x: tensor<48x64xbf16>, %w: tensor<3x40x64xf4E2M1FN>, %ws: tensor<3x40x4xf8E4M3FN, #swizzled>) -> (tensor<48x40xbf16>, tensor<48x40xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>
  %y = blockscale.scaled_grouped_mm %q, %w offsets(%ends) scales(%s, %ws) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<48x4xf8E4M3FN>, tensor<3x40x4xf8E4M3FN, #swizzled> -> tensor<48x40xbf16>
  %z = blockscale.scaled_grouped_mm %q, %w offsets(%others) scales(%s, %ws) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<48x4xf8E4M3FN>, tensor<3x40x4xf8E4M3FN, #swizzled> -> tensor<48x40xf32>
  return %y, %z : tensor<48x40xbf16>, tensor<48x40xf32>
}

// The ends come later than the quantizer.
// CHECK-LABEL: func.func @later_ends
// CHECK: blockscale.quantize %{{.+}} block [1, 16] :
func.func @later_ends(%e: tensor<3xi32>, %x: tensor<48x64xbf16>, %w: tensor<3x40x64xf4E2M1FN>, %ws: tensor<3x40x4xf8E4M3FN, #swizzled>) -> tensor<48x40xbf16> {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>
  %ends = arith.addi %e, %e : tensor<3xi32>
  %y = blockscale.scaled_grouped_mm %q, %w offsets(%ends) scales(%s, %ws) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<48x4xf8E4M3FN>, tensor<3x40x4xf8E4M3FN, #swizzled> -> tensor<48x40xbf16>
  return %y : tensor<48x40xbf16>
}

// Groups of rows may cut square blocks.
// CHECK-LABEL: func.func @square_blocks
// CHECK: blockscale.quantize %{{.+}} block [32, 32] scale_dim k :
func.func @square_blocks(%ends: tensor<3xi32>, %x: tensor<64x64xbf16>, %w: tensor<3x40x64xf8E4M3FN>, %ws: tensor<3x40x2xf8E8M0FNU, #swizzled>) -> tensor<64x40xbf16> {
  %q, %s = blockscale.quantize %x block [32, 32] scale_dim k : tensor<64x64xbf16> -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  %y = blockscale.scaled_grouped_mm %q, %w offsets(%ends) scales(%s, %ws) block [1, 32]
      : tensor<64x64xf8E4M3FN>, tensor<3x40x64xf8E4M3FN>, tensor<3xi32>, tensor<64x2xf8E8M0FNU>, tensor<3x40x2xf8E8M0FNU, #swizzled> -> tensor<64x40xbf16>
  return %y : tensor<64x40xbf16>
}

// Rows of f32 whose length is known at run time are quantized block by block.
// CHECK-LABEL: func.func @blocks
// CHECK: blockscale.quantize %{{.+}} block [1, 16] :
func.func @blocks(%ends: tensor<3xi32>, %x: tensor<48x?xf32>, %w: tensor<3x40x?xf4E2M1FN>, %ws: tensor<3x40x?xf8E4M3FN, #swizzled>) -> tensor<48x40xbf16> {
  %q, %s = blockscale.quantize %x block [1, 16] : tensor<48x?xf32> -> tensor<48x?xf4E2M1FN>, tensor<48x?xf8E4M3FN>
  %y = blockscale.scaled_grouped_mm %q, %w offsets(%ends) scales(%s, %ws) block [1, 16]
      : tensor<48x?xf4E2M1FN>, tensor<3x40x?xf4E2M1FN>, tensor<3xi32>, tensor<48x?xf8E4M3FN>, tensor<3x40x?xf8E4M3FN, #swizzled> -> tensor<48x40xbf16>
  return %y : tensor<48x40xbf16>
}

// A norm quantizes its rows in its own kernel, in groups, too.
// CHECK-LABEL: func.func @norm
// CHECK: blockscale.quantize %{{.+}} block [1, 16] offsets(%arg0
func.func @norm(%ends: tensor<3xi32>, %x: tensor<48x64xbf16>, %w: tensor<3x40x64xf4E2M1FN>, %ws: tensor<3x40x4xf8E4M3FN, #swizzled>) -> tensor<48x40xbf16> {
  %zero = arith.constant 0.0 : bf16
  %r0 = tensor.empty() : tensor<48xbf16>
  %r1 = linalg.fill ins(%zero : bf16) outs(%r0 : tensor<48xbf16>) -> tensor<48xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<48x64xbf16>) outs(%r1 : tensor<48xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %m = arith.maximumf %a, %o : bf16
    linalg.yield %m : bf16
  } -> tensor<48xbf16>
  %e = tensor.empty() : tensor<48x64xbf16>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %r : tensor<48x64xbf16>, tensor<48xbf16>) outs(%e : tensor<48x64xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16):
    %d = arith.subf %a, %b : bf16
    linalg.yield %d : bf16
  } -> tensor<48x64xbf16>
  %q, %s = blockscale.quantize %n block [1, 16] : tensor<48x64xbf16> -> tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>
  %y = blockscale.scaled_grouped_mm %q, %w offsets(%ends) scales(%s, %ws) block [1, 16]
      : tensor<48x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<48x4xf8E4M3FN>, tensor<3x40x4xf8E4M3FN, #swizzled> -> tensor<48x40xbf16>
  return %y : tensor<48x40xbf16>
}
