// RUN: blockscale-opt %s --blockscale-decode-product-operands | FileCheck %s
// RUN: blockscale-opt %s --blockscale-decode-product-operands --canonicalize | FileCheck %s --check-prefix=FOLDED
// RUN: blockscale-opt %s --blockscale-decode-product-operands=chip=sm_100a | FileCheck %s --check-prefix=OTHER
// RUN: blockscale-opt %s --blockscale-decode-product-operands=chip=sm_120a | FileCheck %s --check-prefix=OTHER
// RUN: blockscale-opt %s --blockscale-decode-product-operands=chip=sm_89 | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>
#rows = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>
#cols = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>

// Tensor cores that take scales multiply what is given.
// OTHER-NOT: blockscale.dequantize {{.*}}xbf16

// Of two arguments A is decoded. Scales in tiles are read there, and the global scales
// stay the product's.
// CHECK-LABEL: func.func @arguments
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<48x64xf4E2M1FN>, %[[SA:[a-z0-9]+]]: tensor<48x4xf8E4M3FN, #swizzled>, %[[B:[a-z0-9]+]]: tensor<40x64xf4E2M1FN>, %[[SB:[a-z0-9]+]]: tensor<40x4xf8E4M3FN>, %[[GA:[a-z0-9]+]]: tensor<48xf32>, %[[GB:[a-z0-9]+]]: f32, %[[BIAS:[a-z0-9]+]]: tensor<40xf32>
// CHECK: %[[X:.+]] = blockscale.dequantize %[[A]], %[[SA]] block [1, 16] : tensor<48x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled> -> tensor<48x64xbf16>
// CHECK: blockscale.scaled_mm %[[X]], %[[B]] scales(none, %[[SB]]) block [1, 16] global_scale_a(%[[GA]] : tensor<48xf32>) global_scale_b(%[[GB]] : f32) global_scaling after_rounding bias(%[[BIAS]] : tensor<40xf32>)
func.func @arguments(%a: tensor<48x64xf4E2M1FN>, %sa: tensor<48x4xf8E4M3FN, #swizzled>, %b: tensor<40x64xf4E2M1FN>,
    %sb: tensor<40x4xf8E4M3FN>, %ga: tensor<48xf32>, %gb: f32, %bias: tensor<40xf32>) -> tensor<48x40xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16] global_scale_a(%ga : tensor<48xf32>)
      global_scale_b(%gb : f32) global_scaling after_rounding bias(%bias : tensor<40xf32>)
      : tensor<48x64xf4E2M1FN>, tensor<40x64xf4E2M1FN>, tensor<48x4xf8E4M3FN, #swizzled>, tensor<40x4xf8E4M3FN> -> tensor<48x40xbf16>
  return %y : tensor<48x40xbf16>
}

// What a quantizer makes is decoded, though it is B.
// CHECK-LABEL: func.func @quantized_b
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2x?x64xf8E5M2>
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize
// CHECK: %[[X:.+]] = blockscale.dequantize %[[Q]], %[[S]] block [1, 32] {{.*}} -> tensor<2x?x64xbf16>
// CHECK: blockscale.scaled_mm %[[A]], %[[X]] scales(%{{.+}}, none)
func.func @quantized_b(%a: tensor<2x?x64xf8E5M2>, %sa: tensor<2x?x2xf8E8M0FNU>, %x: tensor<2x?x64xbf16>) -> tensor<2x?x?xf32> {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<2x?x64xbf16> -> tensor<2x?x64xf4E2M1FN>, tensor<2x?x2xf8E8M0FNU>
  %y = blockscale.scaled_mm %a, %q scales(%sa, %s) block [1, 32]
      : tensor<2x?x64xf8E5M2>, tensor<2x?x64xf4E2M1FN>, tensor<2x?x2xf8E8M0FNU>, tensor<2x?x2xf8E8M0FNU> -> tensor<2x?x?xf32>
  return %y : tensor<2x?x?xf32>
}

// Prepacked data is read in its order, though no quantizer made the other operand.
// CHECK-LABEL: func.func @prepacked_a
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<48x64xf4E2M1FN, #{{.+}}>, %{{.+}}: tensor<48x4xf8E4M3FN>, %[[B:[a-z0-9]+]]: tensor<40x64xf4E2M1FN>, %[[SB:[a-z0-9]+]]: tensor<40x4xf8E4M3FN>
// CHECK: %[[X:.+]] = blockscale.dequantize %[[B]], %[[SB]] block [1, 16] {{.*}} -> tensor<40x64xbf16>
// CHECK: blockscale.scaled_mm %[[A]], %[[X]] scales(%{{.+}}, none)
func.func @prepacked_a(%a: tensor<48x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, %sa: tensor<48x4xf8E4M3FN>,
    %b: tensor<40x64xf4E2M1FN>, %sb: tensor<40x4xf8E4M3FN>) -> tensor<48x40xbf16> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<48x64xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>, tensor<40x64xf4E2M1FN>, tensor<48x4xf8E4M3FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xbf16>
  return %y : tensor<48x40xbf16>
}

// Constants, which are weights, stay as they are.
// CHECK-LABEL: func.func @constant_a
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<40x32xf8E4M3FN>
// CHECK: %[[X:.+]] = blockscale.dequantize %[[B]]
// CHECK: blockscale.scaled_mm %{{.+}}, %[[X]] scales(%{{.+}}, none)
func.func @constant_a(%b: tensor<40x32xf8E4M3FN>, %sb: tensor<40x1xf8E8M0FNU>) -> tensor<16x40xf32> {
  %a = arith.constant dense<1.0> : tensor<16x32xf8E4M3FN>
  %sa = arith.constant dense<2.0> : tensor<16x1xf8E8M0FNU>
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<16x32xf8E4M3FN>, tensor<40x32xf8E4M3FN>, tensor<16x1xf8E8M0FNU>, tensor<40x1xf8E8M0FNU> -> tensor<16x40xf32>
  return %y : tensor<16x40xf32>
}

// Scales in tiles of each group of rows are made linear for it; a quantizer that makes
// them for nothing else writes them so. Two products of one A share what is decoded.
// CHECK-LABEL: func.func @groups_of_rows
// CHECK-SAME: %{{.+}}: tensor<?x64xbf16>, %[[ENDS:[a-z0-9]+]]: tensor<3xi32>
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize
// CHECK: %[[LINEAR:.+]] = blockscale.swizzle %[[S]] offsets(%[[ENDS]] : tensor<3xi32>) sizes(%{{.+}}) {blockscale.ends_checked} : tensor<?x4xf8E4M3FN, #{{.+}}> -> tensor<?x4xf8E4M3FN>
// CHECK: %[[X:.+]] = blockscale.dequantize %[[Q]], %[[LINEAR]]
// CHECK: blockscale.scaled_grouped_mm %[[X]], %{{.+}} offsets(%[[ENDS]]) scales(none, %{{.+}}) block [1, 16] global_scale_a(%{{.+}} : tensor<3xf32>)
// FOLDED-LABEL: func.func @groups_of_rows
// FOLDED: %[[Q:.+]], %[[S:.+]] = blockscale.quantize {{.*}} -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
// FOLDED-NOT: blockscale.swizzle
// FOLDED: %[[X:.+]] = blockscale.dequantize %[[Q]], %[[S]]
// FOLDED-NOT: blockscale.dequantize
// FOLDED: blockscale.scaled_grouped_mm %[[X]]
// FOLDED: blockscale.scaled_grouped_mm %[[X]]
func.func @groups_of_rows(%x: tensor<?x64xbf16>, %ends: tensor<3xi32>, %g: tensor<3xf32>, %b: tensor<3x40x64xf4E2M1FN>,
    %sb: tensor<3x40x4xf8E4M3FN>, %c: tensor<3x40x64xf4E2M1FN>, %sc: tensor<3x40x4xf8E4M3FN>) -> (tensor<?x40xf32>, tensor<?x40xf32>) {
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<3xf32>) offsets(%ends : tensor<3xi32>) group_dim 0
      : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #rows>
  %y = blockscale.scaled_grouped_mm %q, %b offsets(%ends) scales(%s, %sb) block [1, 16] global_scale_a(%g : tensor<3xf32>)
      : tensor<?x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<?x4xf8E4M3FN, #rows>, tensor<3x40x4xf8E4M3FN> -> tensor<?x40xf32>
  %z = blockscale.scaled_grouped_mm %q, %c offsets(%ends) scales(%s, %sc) block [1, 16] global_scale_a(%g : tensor<3xf32>)
      : tensor<?x64xf4E2M1FN>, tensor<3x40x64xf4E2M1FN>, tensor<3xi32>, tensor<?x4xf8E4M3FN, #rows>, tensor<3x40x4xf8E4M3FN> -> tensor<?x40xf32>
  return %y, %z : tensor<?x40xf32>, tensor<?x40xf32>
}

// Groups of K count elements in blocks.
// CHECK-LABEL: func.func @groups_of_k
// CHECK: %[[LINEAR:.+]] = blockscale.swizzle %{{.+}} offsets(%{{.+}} : tensor<3xi32>) block 32 {blockscale.ends_checked} : tensor<48x4xf8E8M0FNU, #{{.+}}> -> tensor<48x4xf8E8M0FNU>
// CHECK: %[[X:.+]] = blockscale.dequantize %{{.+}}, %[[LINEAR]] block [1, 32]
// CHECK: blockscale.scaled_grouped_mm %[[X]], %{{.+}} scales(none, %{{.+}})
func.func @groups_of_k(%a: tensor<48x128xf8E4M3FN>, %sa: tensor<48x4xf8E8M0FNU, #cols>, %b: tensor<40x128xf4E2M1FN>,
    %sb: tensor<40x4xf8E8M0FNU, #cols>, %ends: tensor<3xi32>) -> tensor<3x48x40xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<48x128xf8E4M3FN>, tensor<40x128xf4E2M1FN>, tensor<3xi32>, tensor<48x4xf8E8M0FNU, #cols>, tensor<40x4xf8E8M0FNU, #cols> -> tensor<3x48x40xf32>
  return %y : tensor<3x48x40xf32>
}

// One plain operand is enough.
// CHECK-LABEL: func.func @plain
// CHECK-NOT: blockscale.dequantize
// CHECK: return
func.func @plain(%a: tensor<48x64xbf16>, %b: tensor<40x64xf4E2M1FN>, %sb: tensor<40x4xf8E4M3FN>) -> tensor<48x40xf32> {
  %y = blockscale.scaled_mm %a, %b scales(none, %sb) block [1, 16]
      : tensor<48x64xbf16>, tensor<40x64xf4E2M1FN>, tensor<40x4xf8E4M3FN> -> tensor<48x40xf32>
  return %y : tensor<48x40xf32>
}

// What a kernel was given stays.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: blockscale.dequantize
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
