// RUN: blockscale-opt %s --blockscale-assert-product-sizes --cse --canonicalize --cse | FileCheck %s

#swizzled = #blockscale.layout<swizzle_128x4>
#columns = #blockscale.layout<swizzle_128x4, groups = 3, dim = 1>
#any = #blockscale.layout<swizzle_128x4, groups = ?, dim = 0>
#three = #blockscale.layout<swizzle_128x4, groups = 3, dim = 0>

// Each size that types leave open is compared with what other operands say, and
// the op is marked, so that its kernel does not ask again.
// CHECK-LABEL: func.func @linear(
// CHECK-SAME: %[[A:.+]]: tensor<?x?xf8E4M3FN>, %[[B:.+]]: tensor<?x?xf8E4M3FN>, %[[SA:.+]]: tensor<?x?xf8E8M0FNU>, %[[SB:.+]]: tensor<?x?xf8E8M0FNU>)
// CHECK: cf.assert %{{.+}}, "scaled_mm: expected the last dimension of a to be a multiple of 32"
// CHECK: cf.assert %{{.+}}, "scaled_mm: expected dimension 1 of b to fit the shape of a"
// CHECK: cf.assert %{{.+}}, "scaled_mm: expected dimension 0 of scale_a to fit the shape of a"
// CHECK: cf.assert %{{.+}}, "scaled_mm: expected dimension 1 of scale_a to fit the shape of a"
// CHECK: cf.assert %{{.+}}, "scaled_mm: expected dimension 0 of scale_b to fit the shape of b"
// CHECK: cf.assert %{{.+}}, "scaled_mm: expected dimension 1 of scale_b to fit the shape of b"
// CHECK-NOT: cf.assert
// CHECK: blockscale.scaled_mm %[[A]], %[[B]] scales(%[[SA]], %[[SB]]) block [1, 32] {blockscale.sizes_asserted}
func.func @linear(%a: tensor<?x?xf8E4M3FN>, %b: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?xf8E8M0FNU>, %sb: tensor<?x?xf8E8M0FNU>) -> tensor<?x?xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// Tiles are compared as memory has them, and so are bytes of packed data.
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: %[[A:.+]]: tensor<?x64xf4E2M1FN>, %{{.+}}: tensor<24x64xf4E2M1FN>, %[[SA:.+]]: tensor<?x4xf8E4M3FN, #swizzled>
// CHECK-DAG: tensor.dim %[[A]], %c0 : tensor<?x64xf4E2M1FN>
// CHECK-DAG: %[[TILES:.+]] = tensor.dim {blockscale.stored_dim} %[[SA]], %c0
// CHECK: %[[FITS:.+]] = arith.cmpi eq, %[[TILES]], %{{.+}}
// CHECK: cf.assert %[[FITS]], "scaled_mm: expected dimension 0 of scale_a in memory to fit the shape of a"
// CHECK-NOT: cf.assert
// CHECK: blockscale.scaled_mm
func.func @tiles(%a: tensor<?x64xf4E2M1FN>, %b: tensor<24x64xf4E2M1FN>, %sa: tensor<?x4xf8E4M3FN, #swizzled>, %sb: tensor<24x4xf8E4M3FN, #swizzled>) -> tensor<?x24xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 16]
      : tensor<?x64xf4E2M1FN>, tensor<24x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #swizzled>, tensor<24x4xf8E4M3FN, #swizzled> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}

// What a quantizer makes has the sizes of its input: nothing is to be asked, and
// nobody asks the quantizer's results for their sizes.
// CHECK-LABEL: func.func @quantized(
// CHECK-NOT: cf.assert
// CHECK: %[[Q:.+]], %[[S:.+]] = blockscale.quantize
// CHECK-NOT: tensor.dim %[[Q]]
// CHECK-NOT: cf.assert
// CHECK: return
func.func @quantized(%x: tensor<?x64xbf16>, %b: tensor<24x64xf8E4M3FN>, %sb: tensor<24x2xf8E8M0FNU>) -> tensor<?x24xf32> {
  %q, %s = blockscale.quantize %x block [1, 32] : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  %y = blockscale.scaled_mm %q, %b scales(%s, %sb) block [1, 32]
      : tensor<?x64xf8E4M3FN>, tensor<24x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<24x2xf8E8M0FNU> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}

// Verifiers have compared sizes that types say.
// CHECK-LABEL: func.func @static(
// CHECK-NOT: cf.assert
// CHECK: blockscale.scaled_mm %{{.+}}, %{{.+}} scales(%{{.+}}, %{{.+}}) block [1, 32] :
func.func @static(%a: tensor<8x64xf8E4M3FN>, %b: tensor<24x64xf8E4M3FN>, %sa: tensor<8x2xf8E8M0FNU>, %sb: tensor<24x2xf8E8M0FNU>) -> tensor<8x24xf32> {
  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block [1, 32]
      : tensor<8x64xf8E4M3FN>, tensor<24x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<24x2xf8E8M0FNU> -> tensor<8x24xf32>
  return %y : tensor<8x24xf32>
}

// Offsets say how many groups there are.
// CHECK-LABEL: func.func @groups(
// CHECK: cf.assert %{{.+}}, "scaled_grouped_mm: expected dimension 0 of b to fit the shape of a and offsets"
// CHECK: cf.assert %{{.+}}, "scaled_grouped_mm: expected dimension 0 of scale_b to fit the shape of b"
// CHECK: blockscale.scaled_grouped_mm {{.*}} {blockscale.sizes_asserted}
func.func @groups(%a: tensor<96x64xf8E4M3FN>, %b: tensor<?x24x64xf8E4M3FN>, %ends: tensor<?xi32>, %sa: tensor<96x2xf8E8M0FNU>, %sb: tensor<?x24x2xf8E8M0FNU>) -> tensor<96x24xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<?x24x64xf8E4M3FN>, tensor<?xi32>, tensor<96x2xf8E8M0FNU>, tensor<?x24x2xf8E8M0FNU> -> tensor<96x24xf32>
  return %y : tensor<96x24xf32>
}

// A cast to a type that says less hides no size.
// CHECK-LABEL: func.func @cast(
// CHECK-NOT: cf.assert
// CHECK: return
func.func @cast(%a: tensor<8x64xf4E2M1FN>, %b: tensor<24x64xf4E2M1FN>, %sa: tensor<8x4xf8E4M3FN, #swizzled>, %sb: tensor<24x4xf8E4M3FN, #swizzled>) -> tensor<?x24xf32> {
  %c = tensor.cast %a : tensor<8x64xf4E2M1FN> to tensor<?x64xf4E2M1FN>
  %s = tensor.cast %sa : tensor<8x4xf8E4M3FN, #swizzled> to tensor<?x4xf8E4M3FN, #swizzled>
  %y = blockscale.scaled_mm %c, %b scales(%s, %sb) block [1, 16]
      : tensor<?x64xf4E2M1FN>, tensor<24x64xf4E2M1FN>, tensor<?x4xf8E4M3FN, #swizzled>, tensor<24x4xf8E4M3FN, #swizzled> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}

// Tiles of groups have one number, which depends on K here; a static dimension would fold.
// CHECK-LABEL: func.func @groups_of_k(
// CHECK-SAME: %[[SB:[^:]+]]: tensor<24x?xf8E8M0FNU, #[[$COLUMNS:.+]]>)
// CHECK: %[[TILES:.+]] = tensor.dim {blockscale.stored_dim} %[[SB]], %c1
// CHECK: %[[FITS:.+]] = arith.cmpi eq, %[[TILES]], %{{.+}} : index
// CHECK: cf.assert %[[FITS]], "scaled_grouped_mm: expected dimension 0 of scale_b in memory to fit the shape of b"
func.func @groups_of_k(%a: tensor<40x?xf8E4M3FN>, %b: tensor<24x?xf8E4M3FN>, %ends: tensor<3xi32>, %sa: tensor<40x?xf8E8M0FNU, #columns>, %sb: tensor<24x?xf8E8M0FNU, #columns>) -> tensor<3x40x24xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<40x?xf8E4M3FN>, tensor<24x?xf8E4M3FN>, tensor<3xi32>, tensor<40x?xf8E8M0FNU, #columns>, tensor<24x?xf8E8M0FNU, #columns> -> tensor<3x40x24xf32>
  return %y : tensor<3x40x24xf32>
}

// Tiles of as many groups as the offsets have ends are counted where they are stored, since
// no dimension of the tensor depends on the groups.
// CHECK-LABEL: func.func @any_groups(
// CHECK-SAME: %[[ENDS:[^:]+]]: tensor<?xi32>, %[[SA:[^:]+]]: tensor<96x2xf8E8M0FNU, #[[$ANY:.+]]>, %[[X:[^:]+]]: tensor<96x64xbf16>)
// CHECK-DAG: %[[GROUPS:.+]] = tensor.dim %[[ENDS]], %c0
// CHECK-DAG: %[[MOST:.+]] = affine.apply #{{.+}}()[%[[GROUPS]]]
// CHECK-DAG: %[[STORED:.+]] = builtin.unrealized_conversion_cast %[[SA]] : tensor<96x2xf8E8M0FNU, #[[$ANY]]> to tensor<?x32x4x4xf8E8M0FNU>
// CHECK-DAG: %[[TILES:.+]] = tensor.dim %[[STORED]], %c0
// CHECK: %[[FITS:.+]] = arith.cmpi eq, %[[TILES]], %[[MOST]] : index
// CHECK: cf.assert %[[FITS]], "scaled_grouped_mm: expected dimension 0 of scale_a in memory to fit the shape of a"
// CHECK: blockscale.scaled_grouped_mm %{{.+}}, %{{.+}} offsets(%[[ENDS]]) scales(%[[SA]],
// What a quantizer makes with the same ends fits them.
// CHECK: blockscale.quantize
// CHECK-NOT: "scaled_grouped_mm: expected dimension 0 of scale_a
// CHECK: blockscale.scaled_grouped_mm
func.func @any_groups(%b: tensor<?x24x64xf8E4M3FN>, %sb: tensor<?x24x2xf8E8M0FNU>, %a: tensor<96x64xf8E4M3FN>, %ends: tensor<?xi32>, %sa: tensor<96x2xf8E8M0FNU, #any>, %x: tensor<96x64xbf16>) -> (tensor<96x24xf32>, tensor<96x24xf32>) {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<?x24x64xf8E4M3FN>, tensor<?xi32>, tensor<96x2xf8E8M0FNU, #any>, tensor<?x24x2xf8E8M0FNU> -> tensor<96x24xf32>
  %q, %s = blockscale.quantize %x block [1, 32] offsets(%ends : tensor<?xi32>) : tensor<96x64xbf16> -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU, #any>
  %z = blockscale.scaled_grouped_mm %q, %b offsets(%ends) scales(%s, %sb) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<?x24x64xf8E4M3FN>, tensor<?xi32>, tensor<96x2xf8E8M0FNU, #any>, tensor<?x24x2xf8E8M0FNU> -> tensor<96x24xf32>
  return %y, %z : tensor<96x24xf32>, tensor<96x24xf32>
}

// Ends have the number of groups that a layout says.
// CHECK-LABEL: func.func @groups_of_layout(
// CHECK-SAME: %[[ENDS:[^:]+]]: tensor<?xi32>)
// CHECK: %[[GROUPS:.+]] = tensor.dim %[[ENDS]], %c0
// CHECK: %[[FITS:.+]] = arith.cmpi eq, %[[GROUPS]], %c3 : index
// CHECK: cf.assert %[[FITS]], "scaled_grouped_mm: expected dimension 0 of offsets to fit the shape of the layout of scale_a"
func.func @groups_of_layout(%a: tensor<96x64xf8E4M3FN>, %b: tensor<?x24x64xf8E4M3FN>, %sa: tensor<96x2xf8E8M0FNU, #three>, %sb: tensor<?x24x2xf8E8M0FNU>, %ends: tensor<?xi32>) -> tensor<96x24xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%sa, %sb) block [1, 32]
      : tensor<96x64xf8E4M3FN>, tensor<?x24x64xf8E4M3FN>, tensor<?xi32>, tensor<96x2xf8E8M0FNU, #three>, tensor<?x24x2xf8E8M0FNU> -> tensor<96x24xf32>
  return %y : tensor<96x24xf32>
}
